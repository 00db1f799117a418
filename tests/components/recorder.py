"""What a Pulumi program would register, recorded without an engine, a provider or a cloud.

`record` runs any program; `declare` runs one with an `AwsGpuCluster`. Every recording stands alone: its own monitor,
root stack, configuration and event loop, so that neither order nor number of recordings matters.

What the cloud would compute is answered in the cloud's own form (ids, ARNs, addresses) and depends on a resource's
type and name only, so that two recordings of the same program are equal.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pulumi
from pulumi.runtime import mocks as pulumi_mocks
from pulumi.runtime import rpc, stack, sync_await
from pulumi.runtime.config import set_all_config
from pulumi.runtime.settings import SETTINGS, set_root_resource

from tests.components import arm, partners

REGION = "us-east-1"
ACCOUNT = "123456789012"
#: Made for the tests; what a simulated virtual interface returns where it is given no key.
GENERATED_BGP_KEY = "the generated BGP key"
PROJECT, STACK = "gpu-fabric", "test"
STACK_TYPE = "pulumi:pulumi:Stack"

#: Type → the prefix of its ids, where the cloud makes them up; any other type's id is its name.
ID_PREFIXES: Mapping[str, str] = {
    "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup": "sg",
    "aws:ec2/eip:Eip": "eipalloc",
    "aws:ec2/instance:Instance": "i",
    "aws:ec2/internetGateway:InternetGateway": "igw",
    "aws:ec2/launchTemplate:LaunchTemplate": "lt",
    "aws:ec2/natGateway:NatGateway": "nat",
    "aws:ec2/route:Route": "r",
    "aws:ec2/routeTable:RouteTable": "rtb",
    "aws:ec2/routeTableAssociation:RouteTableAssociation": "rtbassoc",
    "aws:ec2/securityGroup:SecurityGroup": "sg",
    "aws:ec2/subnet:Subnet": "subnet",
    "aws:ec2/vpc:Vpc": "vpc",
    "aws:ec2/vpcEndpoint:VpcEndpoint": "vpce",
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": "sgr",
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": "sgr",
}


def cloud_id(prefix: str, seed: str) -> str:
    """An id in EC2's form, 17 hexadecimal digits, the same for the same seed."""
    return f"{prefix}-{hashlib.sha256(seed.encode()).hexdigest()[:17]}"


@dataclass(frozen=True)
class Declared:
    """One registered resource, as the engine would have been told of it."""

    type: str
    name: str
    inputs: Mapping[str, Any]
    """The provider's property names (camelCase) with plain values; outputs of other resources are resolved.

    A whole number is an int: on the wire every number is a double, and the provider reads it by its schema.
    """
    id: str
    """The id that the recording gave it; empty for a component."""
    physical_name: str
    """The name it has in the cloud: its own, or the one that auto-naming would give."""
    urn: str
    parent: str
    """URN of the parent; the engine's URNs have longer types, so compare only within one recording."""
    depends_on: tuple[str, ...] = ()
    """URNs of all dependencies, explicit ones and those through outputs."""
    ignore_changes: tuple[str, ...] = ()
    replace_on_changes: tuple[str, ...] = ()
    delete_before_replace: bool = False
    protect: bool = False
    aliases: int = 0
    """How many aliases the resource was registered with."""
    before_update: tuple[str, ...] = ()
    """Names of the hooks that run before an update."""

    @property
    def custom(self) -> bool:
        """Whether a provider manages it; false for a component."""
        return bool(self.id)


@dataclass(frozen=True)
class Invoked:
    """One look-up."""

    token: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True)
class Recording:
    resources: list[Declared] = field(default_factory=list)
    """In order of registration, components included."""
    invokes: list[Invoked] = field(default_factory=list)
    messages: list[tuple[str, str]] = field(default_factory=list)
    """(level, text) of what the program logged; level is `info`, `warning` or `error`."""
    outputs: dict[str, Any] = field(default_factory=dict)
    """What the program returned, resolved."""

    def of_type(self, type_: str) -> list[Declared]:
        return [resource for resource in self.resources if resource.type == type_]

    def one(self, type_: str) -> Declared:
        (found,) = self.of_type(type_)
        return found

    @property
    def custom(self) -> list[Declared]:
        """The resources that a provider would manage."""
        return [resource for resource in self.resources if resource.custom]


def physical_name(name: str, inputs: Mapping[str, Any]) -> str:
    """The given name, or the resource's with a hyphen and seven hexadecimal digits (Pulumi, "Auto-naming")."""
    return inputs.get("name") or f"{name}-{hashlib.sha256(name.encode()).hexdigest()[:7]}"


def _with_whole_numbers(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if rpc.is_rpc_secret(value):
        return _with_whole_numbers(rpc.unwrap_rpc_secret(value))
    if isinstance(value, Mapping):
        return {key: _with_whole_numbers(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_with_whole_numbers(item) for item in value]
    return value


def _computed(type_: str, name: str, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """What the provider adds to a resource's inputs, as far as programs of ours read it."""
    service = type_.partition(":")[2].partition("/")[0]
    own_name = physical_name(name, inputs)
    computed: dict[str, Any] = {
        "arn": f"arn:aws:{service}:{REGION}:{ACCOUNT}:{own_name}",
        "name": own_name,
    }
    if type_ == "aws:ec2/launchTemplate:LaunchTemplate":
        computed |= {"latestVersion": 1, "defaultVersion": 1}
    if type_ == "aws:eks/cluster:Cluster":
        computed |= {
            "vpcConfig": {**inputs["vpcConfig"], "clusterSecurityGroupId": cloud_id("sg", f"{type_} {name}")}
        }
    if type_ == "aws:iam/role:Role":
        computed |= {"arn": f"arn:aws:iam::{ACCOUNT}:role/{own_name}"}
    if type_.startswith("aws:directconnect/") and type_.endswith("VirtualInterface"):
        computed |= {"bgpAuthKey": inputs.get("bgpAuthKey") or GENERATED_BGP_KEY}
    if type_ == "aws:ec2/instance:Instance":
        last = int(hashlib.sha256(name.encode()).hexdigest(), 16) % 250 + 4
        computed |= {"privateIp": f"10.100.16.{last}"}
    return computed


Answer = Mapping[str, Any] | str
#: By the look-up's token.
Answers = Mapping[str, Answer | Callable[[Mapping[str, Any]], Answer]]


class _Mocks(pulumi_mocks.Mocks):
    def __init__(self, recording: Recording, answers: Answers) -> None:
        self._recording, self._answers = recording, answers

    def call(
        self, args: pulumi_mocks.MockCallArgs
    ) -> Any:  # of the pair that the SDK declares it wants a list
        arguments = _with_whole_numbers(args.args)
        self._recording.invokes.append(Invoked(args.token, arguments))
        given = self._answers.get(args.token, {})
        answer: Answer = given if isinstance(given, Mapping | str) else given(arguments)
        return ({}, [("id", answer)]) if isinstance(answer, str) else {**arguments, **answer}

    def new_resource(self, args: pulumi_mocks.MockResourceArgs) -> tuple[str | None, dict]:
        if not args.custom:
            return "", dict(args.inputs)
        if args.typ.startswith("pulumi:providers:"):
            return args.name, dict(args.inputs)
        if args.typ.startswith(partners.PROVIDERS):
            return partners.answer(args.typ, args.name, _with_whole_numbers(args.inputs))
        if not args.typ.startswith("aws:"):
            return arm.answer(args.typ, args.name, args.inputs)
        prefix = ID_PREFIXES.get(args.typ)
        own_name = physical_name(args.name, args.inputs)
        id_ = cloud_id(prefix, f"{args.typ} {args.name}") if prefix else own_name
        return id_, {**args.inputs, **_computed(args.typ, args.name, args.inputs)}


class _Monitor(pulumi_mocks.MockMonitor):
    """Sees the whole request, where `Mocks.new_resource` sees type, name and inputs only."""

    def __init__(self, mocks: _Mocks, recording: Recording) -> None:
        super().__init__(mocks)
        self._recording = recording
        self._taken: set[str] = set()
        # Each request comes on a thread of its own.
        self._lock = threading.Lock()

    def RegisterResource(self, request: Any) -> Any:  # noqa: N802
        urn = self.make_urn(request.parent, request.type, request.name)
        with self._lock:
            if urn in self._taken:
                # The engine refuses it; the SDK's mocks would let the later resource win.
                raise ValueError(f"two resources of type {request.type} are named {request.name}")
            self._taken.add(urn)
        response = super().RegisterResource(request)
        if request.type != STACK_TYPE:
            inputs = _with_whole_numbers(rpc.deserialize_properties(request.object))
            self._recording.resources.append(
                Declared(
                    type=request.type,
                    name=request.name,
                    inputs=inputs,
                    id=response.id,
                    physical_name=physical_name(request.name, inputs),
                    urn=response.urn,
                    parent=request.parent,
                    depends_on=tuple(request.dependencies),
                    ignore_changes=tuple(request.ignoreChanges),
                    replace_on_changes=tuple(request.replaceOnChanges),
                    delete_before_replace=request.deleteBeforeReplace,
                    protect=request.protect,
                    aliases=len(request.aliases),
                    before_update=tuple(request.hooks.before_update),
                )
            )
        return response


class _Messages(logging.Handler):
    def __init__(self, recording: Recording) -> None:
        super().__init__()
        self._recording = recording

    def emit(self, record: logging.LogRecord) -> None:
        self._recording.messages.append((record.levelname.lower(), record.getMessage()))


def record(
    program: Callable[[], Mapping[str, Any] | None],
    *,
    config: Mapping[str, str] | None = None,
    answers: Answers | None = None,
    preview: bool = False,
    project: str = PROJECT,
) -> Recording:
    """Run `program` against a recording monitor.

    `program` returns outputs to resolve, or None. `config` holds the stack's configuration with full keys
    (`aws:region`). `answers` maps a look-up's token to what it returns beside its own arguments, to the words with
    which it fails, or to a function from its arguments to one of the two. Whatever `program` raises is raised; an
    error inside an `apply` too.
    """
    recording = Recording()
    logger = logging.Logger("recorder", logging.INFO)
    logger.addHandler(_Messages(recording))
    loop = asyncio.new_event_loop()
    # An error is raised below; the outputs that wait for what failed need not report it again.
    loop.set_exception_handler(lambda *_: None)
    asyncio.set_event_loop(loop)
    try:
        set_root_resource(None)  # ty: ignore[invalid-argument-type]
        mocks = _Mocks(recording, answers or {})
        monitor = _Monitor(mocks, recording)
        pulumi_mocks.set_mocks(
            mocks, project=project, stack=STACK, preview=preview, logger=logger, monitor=monitor
        )
        set_all_config(dict(config if config is not None else {"aws:region": REGION}))

        def resolved() -> pulumi.Output[dict[str, Any]]:
            return pulumi.Output.all(**(program() or {}))

        async def run() -> None:
            recording.outputs.update(await pulumi.Output.from_input(resolved()).future() or {})

        sync_await._sync_await(stack.run_pulumi_func(run))
    finally:
        _abandon(loop)
        set_root_resource(None)  # ty: ignore[invalid-argument-type]
        asyncio.set_event_loop(None)
        loop.close()
    return recording


def _abandon(loop: asyncio.AbstractEventLoop) -> None:
    """Drop what a program that raised left in flight: the SDK keeps it for the next program, whose loop is another."""
    SETTINGS.rpc_manager.clear()
    SETTINGS.outputs.clear()
    tasks = asyncio.all_tasks(loop)
    for task in tasks:
        task.cancel()
    loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))


def record_cluster(args: Mapping[str, Any], name: str = "train", **options: Any) -> Recording:
    """The recording of one `AwsGpuCluster`; `options` as `record` takes them."""
    from gpu_fabric.components.aws import AwsGpuCluster

    def program() -> Mapping[str, Any]:
        cluster = AwsGpuCluster(name, args)  # ty: ignore[invalid-argument-type]
        return {key: getattr(cluster, key) for key in AwsGpuCluster.__annotations__}

    return record(program, **options)


def declare(args: Mapping[str, Any], name: str = "train", **options: Any) -> list[Declared]:
    """The provider's resources of one `AwsGpuCluster`, in order of registration."""
    return record_cluster(args, name, **options).custom


def record_azure_cluster(args: Mapping[str, Any], name: str = "train", **options: Any) -> Recording:
    """The recording of one `AzureGpuCluster`; `options` as `record` takes them."""
    from gpu_fabric.components.azure import AzureGpuCluster

    def program() -> Mapping[str, Any]:
        cluster = AzureGpuCluster(name, args)  # ty: ignore[invalid-argument-type]
        return {key: getattr(cluster, key) for key in AzureGpuCluster.__annotations__}

    options.setdefault("config", {"azure-native:location": "eastus"})
    return record(program, **options)
