"""What the planner is asked: clusters, the link between them and the training, read from a stack file.

The stack file's own model (`components/config.py`) rules over the whole file; here only what a plan needs is read.
Keys of other subjects inside a section are left alone; an unknown section is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from reprlib import Repr
from typing import Any, Literal

import yaml
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic.alias_generators import to_camel

from gpu_fabric.nccl.hardware import Cloud, NodeSize, UnknownSizeError, load_sizes
from gpu_fabric.planning.custom_model import CustomModel
from gpu_fabric.planning.errors import PlanningError, UnknownNameError
from gpu_fabric.planning.files import text_of
from gpu_fabric.planning.layout import Layout, Precision, Training
from gpu_fabric.planning.link import LinkModel
from gpu_fabric.planning.regions import region_pair
from gpu_fabric.planning.transformer import Transformer, get_model

FABRIC_KEY = "gpu-fabric:fabric"
MOST_NODES = 100_000
"""Of one cluster: far above what a placement holds."""
MOST_SEQUENCES = 1 << 24
"""Of one step."""
MOST_TOKENS = 1 << 27
"""Of one sequence."""


class _Spec(BaseModel):
    model_config = ConfigDict(
        frozen=True,
        extra="ignore",
        allow_inf_nan=False,
        alias_generator=to_camel,
        populate_by_name=True,
        use_attribute_docstrings=True,
    )


class CapacitySpec(_Spec):
    kind: Literal["onDemand", "spot", "reservation", "capacityBlock"] = "onDemand"
    """How the nodes are bought: decides their price."""


class RootVolumeSpec(_Spec):
    """`aws.rootVolume`: what a gp3 volume is billed by. The defaults are those of the stack file."""

    size_gib: int = Field(default=1000, ge=1, le=1 << 16)
    iops: int = Field(default=16_000, ge=1, le=1 << 20)
    throughput_mibps: int = Field(default=1_000, ge=1, le=1 << 20)


class NetworkSpec(_Spec):
    """`network` of a cluster: which gateways it is billed for."""

    internet: Literal["nat", "endpoints", "none"] | None = None
    vpc_id: Any = None
    subnet_id: Any = None
    bastion: bool = False

    @property
    def adopted(self) -> bool:
        """Whether the network exists already, and nothing of it is billed to this stack."""
        return self.vpc_id is not None or self.subnet_id is not None

    @property
    def has_nat(self) -> bool:
        return not self.adopted and self.internet in (None, "nat")

    @property
    def has_endpoints(self) -> bool:
        return not self.adopted and self.internet == "endpoints"

    @property
    def has_bastion(self) -> bool:
        return not self.adopted and self.bastion


class NcclSpec(_Spec):
    """`nccl` of a cluster."""

    environment: dict[str, str] = Field(default_factory=dict)
    """Variables of the user's, which win over ours."""


class _ClusterSpec(_Spec):
    nodes: int = Field(ge=1, le=MOST_NODES)
    capacity: CapacitySpec = CapacitySpec()
    region: str | None = None
    network: NetworkSpec = NetworkSpec()
    nccl: NcclSpec = NcclSpec()


class AwsClusterSpec(_ClusterSpec):
    """`aws:` of the stack file."""

    instance_type: str
    zone: str | None = None
    root_volume: RootVolumeSpec = RootVolumeSpec()

    @field_validator("instance_type")
    @classmethod
    def _known(cls, value: str, info: ValidationInfo) -> str:
        return _known_size(value, Cloud.AWS, info)


class AzureClusterSpec(_ClusterSpec):
    """`azure:` of the stack file."""

    vm_size: str

    @field_validator("vm_size")
    @classmethod
    def _known(cls, value: str, info: ValidationInfo) -> str:
        return _known_size(value, Cloud.AZURE, info)


def _sizes(info: ValidationInfo) -> Mapping[str, NodeSize]:
    """The catalog, and over it the sizes that the stack file describes itself."""
    return {**load_sizes(), **(info.context or {}).get("sizes", {})}


def _known_size(value: str, cloud: Cloud, info: ValidationInfo) -> str:
    sizes = _sizes(info)
    if value not in sizes:
        raise ValueError(str(UnknownSizeError(value, tuple(sizes))))
    if sizes[value].cloud is not cloud:
        raise ValueError(
            f"{value} is a size of {sizes[value].cloud.value}, not of {cloud.value}; move it there"
        )
    return value


class CircuitSpec(_Spec):
    """`interconnect.circuit`: what an ExpressRoute circuit is billed by."""

    tier: Literal["Local", "Standard", "Premium"] = "Standard"
    family: Literal["MeteredData", "UnlimitedData"] = "MeteredData"

    @property
    def metered(self) -> bool:
        """Whether what leaves Azure is billed by volume; never on a Local circuit."""
        return self.family == "MeteredData" and self.tier != "Local"


class GatewaySpec(_Spec):
    """`interconnect.gateway`: the ExpressRoute gateway that is billed."""

    sku: str | None = None
    """Without it: the smallest zone-redundant one that carries the bandwidth."""
    scale_units: int | None = Field(default=None, ge=1)


class EquinixSpec(_Spec):
    """`interconnect.equinix`: what its cloud routers are billed by."""

    package: str = "STANDARD"


class ManualSpec(_Spec):
    """`interconnect.manual`: whose the port at Direct Connect is."""

    accept: bool = True
    interface_ids: tuple[Any, ...] = ()


class LinkSpec(_Spec):
    """`interconnect:` of the stack file."""

    partner: Literal["equinix", "megaport", "manual", "native"] = "equinix"
    redundancy: Literal["none", "circuit"] = "none"
    circuit: CircuitSpec = CircuitSpec()
    gateway: GatewaySpec = GatewaySpec()
    exchange: str | None = None
    """The peering location, which has a billing zone. Without it: one beside the Azure region."""
    aws_gateway: Literal["virtualPrivate", "transit"] = "virtualPrivate"
    equinix: EquinixSpec = EquinixSpec()
    manual: ManualSpec = ManualSpec()
    bandwidth_mbps: int = Field(ge=50, le=10_000_000)
    rtt_ms: float | None = Field(default=None, gt=0, le=60_000)
    """Measured round-trip time; without it the region pair's estimate is used."""
    loss: float = Field(default=0.0, ge=0, lt=1)
    flows: int | None = Field(default=None, ge=1, le=4_096)
    """Of one pair of ranks. Without it: what the nodes' settings open at this bandwidth."""


class LayoutHints(_Spec):
    """`training.layout`: sizes that the user fixes; the planner searches the rest."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        populate_by_name=True,
        use_attribute_docstrings=True,
    )

    tensor: int | None = Field(default=None, ge=1)
    """GPUs of a tensor-parallel group. Without it, and so for each key here: the planner searches."""
    pipeline: int | None = Field(default=None, ge=1)
    """Pipeline stages."""
    context: int | None = Field(default=None, ge=1)
    """GPUs that share one sequence."""
    expert: int | None = Field(default=None, ge=1)
    """GPUs that share the experts of a mixture-of-experts layer."""
    zero: int | None = Field(default=None, ge=0, le=3)
    """ZeRO stage, 0 to 3; 3 is FSDP."""
    microbatch: int | None = Field(default=None, ge=1)
    """Sequences of one microbatch."""
    virtual: int | None = Field(default=None, ge=1)
    """Virtual stages of a pipeline stage (interleaving)."""

    def allows(self, layout: Layout) -> bool:
        """Whether a layout has every size that the user fixed."""
        fixed = self.model_dump(exclude_none=True)
        return all(getattr(layout, name) == value for name, value in fixed.items())


class TrainingSpec(_Spec):
    """`training:` of the stack file. `model` is a name of the library or a table of its own with a shape."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        populate_by_name=True,
        use_attribute_docstrings=True,
    )

    model: str | CustomModel = "llama-3-70b"
    """A model of the library (docs/planning.md), or a table with the shape of your own."""
    sequence: int = Field(default=8192, ge=1, le=MOST_TOKENS)
    """Tokens of one sequence."""
    global_batch: int = Field(default=1024, ge=1, le=MOST_SEQUENCES)
    """Sequences of one step, over all GPUs."""
    precision: Precision = Precision.BF16
    """Of the matrix products."""
    layout: LayoutHints = LayoutHints()

    @field_validator("model", mode="before")
    @classmethod
    def _known(cls, value: Any) -> str | CustomModel:
        if isinstance(value, str):
            try:
                get_model(value)
            except UnknownNameError as error:
                raise ValueError(str(error)) from None
            return value
        if not isinstance(value, Mapping | CustomModel):
            raise ValueError("is neither the name of a model nor a table; give one of both")  # noqa: TRY004
        return CustomModel.model_validate(value)

    @property
    def shape(self) -> Transformer:
        """The library's model of that name, or the user's own."""
        return get_model(self.model) if isinstance(self.model, str) else self.model.to_transformer()

    def to_training(self) -> Training:
        return Training(self.shape, self.sequence, self.global_batch, self.precision)


@dataclass(frozen=True)
class Cluster:
    """One cloud's nodes."""

    size: NodeSize
    nodes: int
    region: str | None = None
    capacity: str = "onDemand"
    network: NetworkSpec = field(default_factory=NetworkSpec)
    root_volume: RootVolumeSpec | None = None
    """Of AWS; Azure's disks have no price in the table."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """NCCL variables of the user's."""

    @property
    def cloud(self) -> Cloud:
        return self.size.cloud

    @property
    def gpus(self) -> int:
        return self.nodes * self.size.gpu.count

    @property
    def label(self) -> str:
        return f"{self.nodes} x {self.size.name}"


class FabricSpec(_Spec):
    """The part of a stack that a plan is made of; at least one cluster."""

    aws: AwsClusterSpec | None = None
    azure: AzureClusterSpec | None = None
    interconnect: LinkSpec | None = None
    training: TrainingSpec = TrainingSpec()
    name: str = "fabric"
    _found: tuple[Cluster, ...] = PrivateAttr(default=())

    @model_validator(mode="after")
    def _some_cluster(self) -> FabricSpec:
        if self.aws is None and self.azure is None:
            raise ValueError("neither aws nor azure is given: there is nothing to plan; add one")
        if self.interconnect is not None and (self.aws is None or self.azure is None):
            raise ValueError("interconnect needs both aws and azure; add the other cloud or remove it")
        return self

    @model_validator(mode="after")
    def _clusters(self, info: ValidationInfo) -> FabricSpec:
        sizes = _sizes(info)
        given = (
            (self.aws, self.aws.instance_type if self.aws else ""),
            (self.azure, self.azure.vm_size if self.azure else ""),
        )
        self._found = tuple(
            Cluster(
                sizes[name],
                part.nodes,
                part.region,
                part.capacity.kind,
                part.network,
                part.root_volume if isinstance(part, AwsClusterSpec) else None,
                part.nccl.environment,
            )
            for part, name in given
            if part is not None
        )
        return self

    @property
    def clusters(self) -> tuple[Cluster, ...]:
        """The clusters, AWS first."""
        return self._found

    def link_model(self) -> LinkModel | None:
        """The link between the clouds; None without one. Latency: measured, the region pair's, or a cautious 10 ms."""
        if self.interconnect is None:
            return None
        link = self.interconnect
        pair = region_pair(self.aws.region if self.aws else None, self.azure.region if self.azure else None)
        if link.rtt_ms is not None:
            rtt, basis = link.rtt_ms, "round-trip time given in the stack file"
        elif pair is not None:
            rtt, basis = pair.rtt_ms, pair.basis
        else:
            rtt, basis = UNKNOWN_RTT_MS, "no estimate for this region pair; counted with 10 ms, measure it"
        return LinkModel(link.bandwidth_mbps / 1000, rtt, link.loss, link.flows or 0, basis=basis)


UNKNOWN_RTT_MS = 10.0


_REPR = Repr()
_REPR.maxstring = _REPR.maxother = _REPR.maxlong = 60


def _short(value: Any) -> str:
    """A value as a message shows it: short, however deep or long the file is."""
    text = _REPR.repr(value)
    return text if len(text) <= 80 else f"{text[:77]}…"


def _path(location: tuple[int | str, ...], root: str) -> str:
    names = [root, *(str(part) for part in location)]
    return ".".join(name for name in names if name)


def _message(item: Mapping[str, Any]) -> str:
    """What is wrong and what to do, of one of pydantic's errors."""
    context = item.get("ctx", {})
    match item["type"]:
        case "value_error":
            return str(context["error"])
        case "missing":
            return "is required; add it"
        case "extra_forbidden":
            return "is not a key that is known here; correct it, or remove it"
        case "less_than_equal":
            return f"{_short(item['input'])} is too large; give at most {context['le']}"
        case "greater_than_equal":
            return f"{_short(item['input'])} is too small; give at least {context['ge']}"
    return f"{item['msg']}; got {_short(item['input'])}"


def problems_of(error: ValidationError, root: str = "fabric") -> list[str]:
    """One line a problem, with its path in the stack file."""
    return [f"{_path(item['loc'], root)}: {_message(item)}" for item in error.errors(include_url=False)]


SECTIONS = ("aws", "azure", "interconnect", "training", "sizes")
"""Keys under `fabric`; `sizes` is read by whoever reads the rest of the file."""


def _unknown_sections(data: Mapping[Any, Any]) -> list[str]:
    problems = []
    for key in data:
        if key in SECTIONS:
            continue
        near = get_close_matches(str(key), SECTIONS, n=1, cutoff=0.6)
        hint = f"did you mean `{near[0]}`? " if near else ""
        problems.append(
            f"fabric.{_short(key).strip(chr(39))}: is not a key that is known here; {hint}"
            f"known keys: {', '.join(SECTIONS)}"
        )
    return problems


_REGION = re.compile(r"[a-z]+(?:-[a-z]+)+-\d+")
"""The region at the start of a zone's name: us-east-1a, and us-west-2-lax-1a of a local zone."""


def _without_empty(value: Any, depth: int = 3) -> Any:
    """`value` without the keys that have nothing behind them, as deep as a section goes: YAML may loop."""
    if not isinstance(value, Mapping) or not depth:
        return value
    return {key: _without_empty(inner, depth - 1) for key, inner in value.items() if inner is not None}


def _with_regions(
    data: Mapping[Any, Any], aws_region: str | None, azure_location: str | None
) -> tuple[dict[str, Any], list[str]]:
    """The sections with their regions filled in, and what does not agree."""
    given = {key: data[key] for key in SECTIONS if data.get(key) is not None}
    # A model of training has keys whose emptiness is a mistake; elsewhere it is as if the key were not there.
    document = {key: value if key == "training" else _without_empty(value) for key, value in given.items()}
    problems = []
    for cloud, region in (("aws", aws_region), ("azure", azure_location)):
        section = document.get(cloud)
        if not isinstance(section, Mapping):
            continue
        own = section.get("region") or section.get("location")
        zone = section.get("zone") if cloud == "aws" else None
        found = _REGION.match(zone) if isinstance(zone, str) else None
        if found is not None and region is not None and found[0] != region:
            problems.append(
                f"fabric.aws.zone: {zone} is a zone of {found[0]}, and aws:region is {region}; give a zone of "
                f"{region}, or set aws:region to {found[0]}"
            )
        document[cloud] = {**section, "region": own or (found[0] if found else region)}
    return document, problems


def fabric_spec(
    data: Mapping[str, Any],
    *,
    aws_region: str | None = None,
    azure_location: str | None = None,
    name: str = "fabric",
    sizes: Mapping[str, NodeSize] | None = None,
) -> FabricSpec:
    """A spec from the `gpu-fabric:fabric` mapping; `sizes` are those that the stack file describes itself.

    Raises `PlanningError` with every problem at once.
    """
    document, disagreeing = _with_regions(data, aws_region, azure_location)
    problems = [*_unknown_sections(data), *disagreeing]
    try:
        spec = FabricSpec.model_validate({**document, "name": name}, context={"sizes": sizes or {}})
    except ValidationError as error:
        raise PlanningError([*problems, *problems_of(error)]) from None
    if problems:
        raise PlanningError(problems)
    return spec


@dataclass(frozen=True)
class StackFile:
    """What a plan reads of a Pulumi stack file."""

    name: str
    fabric: Mapping[str, Any]
    """The value of `gpu-fabric:fabric`."""
    aws_region: str | None
    azure_location: str | None

    def spec(self, *, own_sizes: Callable[[Any], Mapping[str, NodeSize]] = lambda _: {}) -> FabricSpec:
        """The planner's part; `own_sizes` reads the `sizes` mapping. Raises `PlanningError`."""
        return fabric_spec(
            self.fabric,
            aws_region=self.aws_region,
            azure_location=self.azure_location,
            name=self.name,
            sizes=own_sizes(self.fabric["sizes"]) if "sizes" in self.fabric else None,
        )


def stack_file(path: Path) -> StackFile:
    """A Pulumi stack file, its sections unread.

    Raises `PlanningError` for a file that is missing, too large, no YAML, or without a fabric.
    """
    text = text_of(path, "a stack file")
    try:
        document = yaml.safe_load(text)
    except RecursionError:
        raise PlanningError([f"{path}: is nested too deeply; give a stack file"]) from None
    except (yaml.YAMLError, ValueError) as error:
        # Dates and numbers that YAML allows and Python does not are ValueErrors.
        reason = " ".join(str(error).split())[:300]
        raise PlanningError([f"{path}: is no YAML ({reason}); correct it"]) from None
    config = document.get("config") if isinstance(document, Mapping) else None
    if not isinstance(config, Mapping) or not isinstance(config.get(FABRIC_KEY), Mapping):
        raise PlanningError([f"{path}: config has no mapping {FABRIC_KEY!r}; describe the fabric there"])
    keys = {"aws:region": config.get("aws:region")}
    key = "azure-native:location" if config.get("azure-native:location") else "azure:location"
    keys[key] = config.get(key)
    wrong = [
        f"{path}: config.{name} is not text; give the name of a region"
        for name, value in keys.items()
        if not isinstance(value, str | None)
    ]
    if wrong:
        raise PlanningError(wrong)
    stem = path.name.removeprefix("Pulumi.").removesuffix(".yaml").removesuffix(".yml")
    return StackFile(stem, config[FABRIC_KEY], keys["aws:region"], keys[key])


def read_stack_file(
    path: Path, *, own_sizes: Callable[[Any], Mapping[str, NodeSize]] = lambda _: {}
) -> FabricSpec:
    """The spec of a Pulumi stack file; `own_sizes` reads its `sizes` mapping. Raises `PlanningError`."""
    return stack_file(path).spec(own_sizes=own_sizes)
