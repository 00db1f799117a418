"""The engine's side of a simulated cloud: the ResourceProvider protocol over a :class:`~.resource.Cloud`.

Follows pulumi/pulumi proto/pulumi/provider.proto at v3.274.1, and the behaviour of the vendors' bridged providers
(pulumi/pulumi-terraform-bridge pkg/tfbridge/provider.go) where the protocol leaves a choice: names, detailed diffs,
what a preview knows, half-made resources.
"""

# ruff: noqa: N802 (the methods have the names of the protocol)
from __future__ import annotations

import contextlib
import hashlib
import json
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import grpc

from . import faults as fault_switches
from .diff import Change, applied, changes
from .errors import PartialFailure, Problem, ProviderError, Refusal
from .protocol import plugin_pb2, provider_pb2, provider_pb2_grpc, status_pb2
from .resource import Call, Cloud, Lookup, Naming, ResourceType
from .sdk_schema import plugin_version
from .store import Store, Transaction
from .values import (
    UNKNOWN,
    Empty,
    Secret,
    from_struct,
    has_unknown,
    keep_secret,
    plain,
    secret_names,
    to_struct,
    with_unknowns,
    without,
)

DATABASE = "GPU_FABRIC_REHEARSAL_DB"
"""The environment variable that names the database file."""

Log = Callable[[str, str, str], None]
"""Takes severity (``debug``, ``info``, ``warning``, ``error``), message and URN ('' for none)."""

T = TypeVar("T")


def _no_log(severity: str, message: str, urn: str) -> None:
    """Where nobody listens."""


class Provider(provider_pb2_grpc.ResourceProviderServicer):
    """Answers the engine for one cloud.

    ``database`` is the store's file; None takes it from ``GPU_FABRIC_REHEARSAL_DB`` when the provider is
    configured, so that a process that is only asked for its version needs none.
    """

    def __init__(self, cloud: Cloud, database: Path | str | None = None, log: Log = _no_log) -> None:
        self.cloud = cloud
        self.log = log
        self.config: dict[str, Any] = {}
        self._database = database
        self._store: Store | None = Store(database) if database else None
        self._cancelled = threading.Event()
        self._noticed = False

    # What the engine asks first

    def Handshake(self, request: Any, context: Any) -> Any:
        return provider_pb2.ProviderHandshakeResponse(
            accept_secrets=True,
            accept_resources=True,
            accept_outputs=True,
            supports_autonaming_configuration=True,
        )

    def GetPluginInfo(self, request: Any, context: Any) -> Any:
        return plugin_pb2.PluginInfo(version=self._version())

    def Parameterize(self, request: Any, context: Any) -> Any:
        def parameterize() -> Any:
            # A generated SDK sends a name; the command line sends arguments, OWNER/NAME first.
            asked = request.value.name or next(iter(request.args.args), "").rpartition("/")[2]
            if not self.cloud.parameterized or asked != self.cloud.name:
                raise ProviderError(
                    f"the simulated {self.cloud.name} provider cannot stand for {asked or 'another provider'}"
                )
            return provider_pb2.ParameterizeResponse(name=self.cloud.name, version=self._version())

        return self._answer(context, parameterize)

    def _version(self) -> str:
        return self.cloud.schema.version if self.cloud.parameterized else plugin_version(self.cloud.name)

    def Attach(self, request: Any, context: Any) -> Any:
        return Empty()

    def GetMapping(self, request: Any, context: Any) -> Any:
        return provider_pb2.GetMappingResponse()

    def GetMappings(self, request: Any, context: Any) -> Any:
        return provider_pb2.GetMappingsResponse()

    def Cancel(self, request: Any, context: Any) -> Any:
        self._cancelled.set()
        return Empty()

    # Configuration

    def CheckConfig(self, request: Any, context: Any) -> Any:
        given = from_struct(request.news)
        config = configuration(given)
        found = [
            *self.cloud.schema.problems(config, self.cloud.schema.config, self.cloud.wording),
            *self.cloud.check_config(config),
        ]
        return provider_pb2.CheckResponse(
            inputs=to_struct(given),
            failures=[provider_pb2.CheckFailure(property=each.path, reason=each.reason) for each in found],
        )

    def DiffConfig(self, request: Any, context: Any) -> Any:
        old = plain(from_struct(request.old_inputs if request.HasField("old_inputs") else request.olds))
        new = plain(from_struct(request.news))
        differing = sorted(
            name
            for name in set(old) | set(new)
            if not name.startswith("__") and name != "version" and old.get(name) != new.get(name)
        )
        return provider_pb2.DiffResponse(
            changes=provider_pb2.DiffResponse.DIFF_SOME if differing else provider_pb2.DiffResponse.DIFF_NONE,
            diffs=differing,
            replaces=[name for name in differing if name in self.cloud.config_replaces],
        )

    def Configure(self, request: Any, context: Any) -> Any:
        def configure() -> Any:
            self.config = configuration(from_struct(request.args))
            if self._store is None:
                path = self._database or os.environ.get(DATABASE)
                if not path:
                    raise ProviderError(
                        f"the simulated {self.cloud.name} cloud has no database: set {DATABASE} to a file's path "
                        f"(the launcher does), or use the vendor's provider"
                    )
                self._store = Store(path)
            if self.cloud.notice and not self._noticed:
                self._noticed = True
                self.log("info", self.cloud.notice, "")
            return provider_pb2.ConfigureResponse(
                acceptSecrets=True,
                supportsPreview=True,
                acceptResources=True,
                acceptOutputs=True,
                supports_autonaming_configuration=True,
            )

        return self._answer(context, configure)

    # One resource

    def Check(self, request: Any, context: Any) -> Any:
        def check() -> Any:
            type = self._type(request)
            inputs = from_struct(request.news)
            name = request.name or _name(request.urn)
            problems: list[Problem] = []
            if self.cloud.bridged:
                problems += self._name_resource(type, request, inputs, name)
            else:
                with self._transaction() as tx:
                    call = self._call(tx, type, request, plain(inputs))
                    inputs |= self.cloud.complete(call, plain(from_struct(request.olds)), _naming(request))
            problems += self.cloud.schema.problems(inputs, self._schema(type).inputs, self.cloud.wording)
            if not problems:
                with self._transaction() as tx:
                    problems = list(type.check(self._call(tx, type, request, plain(inputs))))
            return provider_pb2.CheckResponse(
                inputs=to_struct(inputs),
                failures=[
                    provider_pb2.CheckFailure(
                        reason=f"{each.reason}. Examine values at '{name}.{each.path}'."
                        if each.path and self.cloud.bridged
                        else each.reason
                    )
                    for each in problems
                ],
            )

        return self._answer(context, check)

    def Diff(self, request: Any, context: Any) -> Any:
        def diff() -> Any:
            type = self._type(request)
            olds = from_struct(request.olds)
            old_inputs = from_struct(request.old_inputs) if request.HasField("old_inputs") else olds
            news = from_struct(request.news)
            found = changes(type, self._schema(type), olds, old_inputs, news, self.cloud.bridged)
            named = {each.top for each in found}
            found += [
                Change(name, "update", replaces=True)
                for name in self.cloud.moves(plain(olds), plain(news), self.config)
                if name not in named
            ]
            kinds = provider_pb2.PropertyDiff.Kind
            replacing = any(each.replaces for each in found)
            return provider_pb2.DiffResponse(
                changes=provider_pb2.DiffResponse.DIFF_SOME if found else provider_pb2.DiffResponse.DIFF_NONE,
                diffs=list(dict.fromkeys(each.top for each in found)),
                replaces=[each.path for each in found if each.replaces],
                deleteBeforeReplace=replacing
                and (
                    type.delete_before_replace
                    or self.cloud.deletes_first(type, plain(old_inputs), plain(news))
                ),
                detailedDiff={
                    each.path: provider_pb2.PropertyDiff(
                        kind=kinds.Value(each.kind.upper() + ("_REPLACE" if each.replaces else "")),
                        inputDiff=True,
                    )
                    for each in found
                },
                hasDetailedDiff=True,
            )

        return self._answer(context, diff)

    def Create(self, request: Any, context: Any) -> Any:
        def create() -> Any:
            type = self._type(request)
            given = from_struct(request.properties)
            inputs = _own(plain(given))
            if request.preview:
                with self._transaction() as tx:
                    outputs = self._planned(self._call(tx, type, request, inputs))
                return provider_pb2.CreateResponse(properties=to_struct(self._answered(type, outputs, given)))

            def make(call: Call) -> tuple[str, dict[str, Any]]:
                made = type.create(call)
                outputs = self._given(call) | made.outputs | {"id": made.id}
                outputs = {key: value for key, value in outputs.items() if value is not None}
                call.tx.put(type.kind, made.id, _kept(type, outputs), secret_names(given))
                return made.id, outputs

            id, outputs = self._operate(
                "create", type, request, lambda tx: self._call(tx, type, request, inputs), make, given
            )
            return provider_pb2.CreateResponse(
                id=id, properties=to_struct(self._answered(type, outputs, given))
            )

        return self._answer(context, create)

    def Read(self, request: Any, context: Any) -> Any:
        def read() -> Any:
            type = self._type(request)
            given = from_struct(request.inputs)
            # Without a state it is an import.
            id = request.id if request.properties.fields else type.imported(request.id)
            with self._transaction() as tx:
                call = replace(
                    self._call(tx, type, request, _own(plain(given))),
                    id=id,
                    old=plain(from_struct(request.properties)),
                )
                state = type.read(call)
                secrets = tx.secrets(type.kind, id)
            if state is None:
                return provider_pb2.ReadResponse()
            state = self._shown(type, state) | {"id": id}
            inputs = self._read_inputs(type, state, given, call.old)
            outputs = self._answered(type, state, given)
            for name in secrets:
                for properties in (outputs, inputs):
                    if name in properties and not isinstance(properties[name], Secret):
                        properties[name] = Secret(plain(properties[name]))
            return provider_pb2.ReadResponse(id=id, properties=to_struct(outputs), inputs=to_struct(inputs))

        return self._answer(context, read)

    def Update(self, request: Any, context: Any) -> Any:
        def update() -> Any:
            type = self._type(request)
            given = from_struct(request.news)
            inputs = _own(plain(given))
            olds = plain(from_struct(request.olds))
            old_inputs = _own(plain(from_struct(request.old_inputs)))

            def call_on(tx: Transaction, old: dict[str, Any]) -> Call:
                return replace(
                    self._call(tx, type, request, inputs), id=request.id, old=old, old_inputs=old_inputs
                )

            if request.preview:
                with self._transaction() as tx:
                    outputs = self._replanned(call_on(tx, olds))
                return provider_pb2.UpdateResponse(properties=to_struct(self._answered(type, outputs, given)))

            def change(call: Call) -> tuple[str, dict[str, Any]]:
                changed = type.update(call)
                outputs = {**self._merged(call), **changed, "id": call.id}
                outputs = {key: value for key, value in outputs.items() if value is not None}
                call.tx.put(type.kind, call.id, _kept(type, outputs), secret_names(given))
                return call.id, outputs

            def on_stored(tx: Transaction) -> Call:
                stored = type.read(call_on(tx, olds))
                if stored is None:
                    raise ProviderError(
                        f"updating {type.title} ({request.id}): couldn't find resource: it was removed outside of "
                        f"this program; pulumi refresh takes it out of the state"
                    )
                return call_on(tx, stored)

            _, outputs = self._operate("update", type, request, on_stored, change, given)
            return provider_pb2.UpdateResponse(properties=to_struct(self._answered(type, outputs, given)))

        return self._answer(context, update)

    def Delete(self, request: Any, context: Any) -> Any:
        def delete() -> Any:
            type = self._type(request)

            def call_on(tx: Transaction) -> Call:
                old = tx.get(type.kind, request.id)
                return replace(
                    self._call(tx, type, request, _own(plain(from_struct(request.old_inputs)))),
                    id=request.id,
                    old=plain(from_struct(request.properties)) if old is None else old,
                )

            def remove(call: Call) -> tuple[str, dict[str, Any]]:
                # What is gone already counts as deleted, as it does for the vendors' providers.
                if call.tx.get(type.kind, call.id) is not None or type.read(call) is not None:
                    type.delete(call)
                    call.tx.remove(type.kind, call.id)
                return call.id, {}

            self._operate("delete", type, request, call_on, remove, {})
            return Empty()

        return self._answer(context, delete)

    def Invoke(self, request: Any, context: Any) -> Any:
        def invoke() -> Any:
            function = self.cloud.functions_by_token.get(request.tok)
            if function is None:
                raise ProviderError(self.cloud.unknown_function(request.tok))
            names = self.cloud.schema.functions[request.tok]
            args = plain(from_struct(request.args))
            unknown = sorted(set(args) - set(names["inputs"]))
            if unknown:
                return provider_pb2.InvokeResponse(
                    failures=[
                        provider_pb2.CheckFailure(
                            property=name,
                            reason=f"not an argument of {request.tok}; it takes {', '.join(names['inputs'])}",
                        )
                        for name in unknown
                    ]
                )
            if has_unknown(args):
                result = dict.fromkeys(names["outputs"], UNKNOWN)
            else:
                switches = fault_switches.load()
                self._wait(switches.seconds("invoke", request.tok, ""))
                self._throttle(switches, None, "invoke", request.tok, "", "")
                with self._transaction() as tx:
                    found = function.answer(Lookup(tx, request.tok, self.config, args))
                result = {key: value for key, value in found.items() if key in names["outputs"]}
            answer = provider_pb2.InvokeResponse()
            # The field's name is a word of Python.
            getattr(answer, "return").CopyFrom(to_struct(result))
            return answer

        return self._answer(context, invoke)

    # Inside

    def _type(self, request: Any) -> ResourceType:
        token = request.type or _type_token(request.urn)
        type = self.cloud.by_token.get(token)
        if type is None:
            raise ProviderError(self.cloud.unknown_type(token))
        return type

    def _schema(self, type: ResourceType) -> Any:
        return self.cloud.type_schema(type.token)

    def _transaction(self) -> contextlib.AbstractContextManager[Transaction]:
        if self._store is None:
            raise ProviderError(f"the simulated {self.cloud.name} cloud was not configured")
        return self._store.transaction(self.cloud.name)

    def _call(self, tx: Transaction, type: ResourceType, request: Any, inputs: dict[str, Any]) -> Call:
        return Call(
            tx=tx,
            type=type,
            config=self.config,
            inputs=inputs,
            urn=request.urn,
            name=request.name or _name(request.urn),
            faults=fault_switches.load(),
            preview=getattr(request, "preview", False),
            timeout=getattr(request, "timeout", 0),
        )

    def _answered(
        self, type: ResourceType, outputs: Mapping[str, Any], given: Mapping[str, Any]
    ) -> dict[str, Any]:
        """The outputs as the vendor's provider hands them to the engine."""
        if not self.cloud.bridged:
            names = self._schema(type).outputs
            outputs = {key: value for key, value in outputs.items() if key in names or key == "id"}
            outputs = without(outputs, type.hidden)
        else:
            outputs = self._shown(type, outputs)
        kept = keep_secret(outputs, given)
        return {
            key: Secret(value) if key in type.secrets and not isinstance(value, Secret) else value
            for key, value in kept.items()
        }

    def _given(self, call: Call) -> dict[str, Any]:
        """What is known without asking the cloud: inputs, defaults and what follows from them."""
        defaults = {key: value for key, value in call.type.defaults.items() if call.inputs.get(key) is None}
        return {**call.inputs, **defaults, **self.cloud.common_outputs(call), **call.type.known(call)}

    def _shown(self, type: ResourceType, stored: Mapping[str, Any]) -> dict[str, Any]:
        """The properties that the engine gets: what is stored besides them is the cloud's own business."""
        schema = self._schema(type)
        return {
            key: value
            for key, value in stored.items()
            if value is not None and (key in schema.outputs or key in schema.inputs or key == "id")
        }

    def _planned(self, call: Call) -> dict[str, Any]:
        """The outputs of a create that has not happened: what only the cloud knows is unknown."""
        schema, type = self._schema(call.type), call.type
        if not self.cloud.bridged:
            outputs = {**call.inputs, **self.cloud.common_outputs(call), **type.known(call)}
            unknown = set(schema.outputs) - type.absent - set(outputs)
            return with_unknowns(outputs, type.unknown_within) | dict.fromkeys(unknown, UNKNOWN)
        outputs = self._given(call)
        unknown = (schema.computed | schema.filled | type.filled) - type.absent - set(outputs)
        return with_unknowns(outputs, type.unknown_within) | dict.fromkeys(unknown, UNKNOWN)

    def _merged(self, call: Call) -> dict[str, Any]:
        """The properties after an update: what was there, with the new inputs over it."""
        schema, type = self._schema(call.type), call.type
        merged = dict(call.old)
        for name in schema.inputs:
            if call.inputs.get(name) is not None:
                merged[name] = call.inputs[name]
            elif name in call.old_inputs and (
                name in type.defaults or name not in schema.filled | type.filled
            ):
                merged[name] = type.defaults.get(name)
        return {**merged, **self.cloud.common_outputs(call), **type.known(call)}

    def _replanned(self, call: Call) -> dict[str, Any]:
        """The outputs of an update that has not happened."""
        if not self.cloud.bridged:
            kept = {name: call.old[name] for name in self.cloud.stable if name in call.old}
            return {**self._planned(call), **kept}
        changed = {
            each.top
            for each in changes(call.type, self._schema(call.type), call.old, call.old_inputs, call.inputs)
        }
        unknown = set(call.type.recomputed(call, changed)) if changed else set()
        merged = self._merged(call)
        return merged | dict.fromkeys(unknown - (set(call.inputs) & set(merged)), UNKNOWN)

    def _read_inputs(
        self,
        type: ResourceType,
        state: Mapping[str, Any],
        given: Mapping[str, Any],
        recorded: Mapping[str, Any],
    ) -> dict[str, Any]:
        """The inputs that would give the state: those the program gave, as they are now, and what else differs.

        Without earlier inputs (an import) it is every input that has not the value it gets when left out.
        """
        schema = self._schema(type)
        filled = schema.filled | type.filled
        if not self.cloud.bridged:
            state = without(dict(state), type.hidden)
            if given:
                return self._inputs_after(type, state, given, recorded)
        inputs: dict[str, Any] = {key: value for key, value in given.items() if key.startswith("__")}
        for name in schema.inputs:
            now = state.get(name)
            if name in given:
                asked = {name: plain(given[name])}
                if now == recorded.get(name) or not changes(type, schema, {}, asked, {name: now}):
                    inputs[name] = given[name]
                elif now is not None:
                    inputs[name] = applied(asked[name], recorded.get(name), now)
            elif (
                (not given or now != recorded.get(name))
                and name not in filled
                and now not in (None, [], {}, "", type.defaults.get(name))
            ):
                inputs[name] = now
        return inputs

    def _inputs_after(
        self,
        type: ResourceType,
        state: Mapping[str, Any],
        given: Mapping[str, Any],
        recorded: Mapping[str, Any],
    ) -> dict[str, Any]:
        """The program's inputs with what changed in the cloud since its state was recorded."""
        inputs = dict(given)
        schema = self._schema(type)
        for name in set(schema.inputs) & set(schema.outputs):
            before, now = recorded.get(name), state.get(name)
            if before == now or (name not in given and name in type.filled):
                continue
            if now is None:
                inputs.pop(name, None)
            else:
                inputs[name] = applied(plain(given.get(name)), before, now)
        return inputs

    def _name_resource(
        self, type: ResourceType, request: Any, inputs: dict[str, Any], name: str
    ) -> Iterator[Problem]:
        """Give the resource a physical name where the program left it out, and keep the one it has."""
        property = type.autoname
        if not property or inputs.get(property) is not None or inputs.get(f"{property}Prefix") is not None:
            return
        olds = from_struct(request.olds)
        if property in olds.get("__defaults", []):
            proposed = plain(olds[property])
        else:
            options = request.autonaming if request.HasField("autonaming") else None
            modes = provider_pb2.CheckRequest.AutonamingOptions.Mode
            if options is not None and options.mode == modes.DISABLE:
                yield Problem(property, "automatic naming is switched off for this resource: give it a name")
                return
            proposed = options.proposed_name if options is not None and options.proposed_name else ""
            if not proposed:
                seed = request.randomSeed or f"{request.urn}/{os.urandom(8).hex()}".encode()
                proposed = f"{name[: type.name_limit - 8]}-{hashlib.sha256(seed).hexdigest()[:7]}"
        inputs[property] = proposed
        inputs["__defaults"] = [property]

    def _operate(
        self,
        operation: str,
        type: ResourceType,
        request: Any,
        prepare: Callable[[Transaction], Call],
        act: Callable[[Call], tuple[str, dict[str, Any]]],
        given: Mapping[str, Any],
    ) -> tuple[str, dict[str, Any]]:
        """One operation on the cloud, with the faults that are switched on, in the journal."""
        name = request.name or _name(request.urn)
        id = getattr(request, "id", "")
        label = id or str(plain(given).get(type.autoname, ""))
        switches = fault_switches.load()
        self._wait(switches.seconds(operation, type.token, name))
        try:
            self._throttle(switches, type, operation, type.token, name, id)
            failing = self._failing(switches, operation, type.token, name)
            with self._transaction() as tx:
                call = prepare(tx)
                id, outputs = act(call)
                reasons = list(call.reasons)
                tx.record(operation, type.token, id, name, "partial" if reasons else "done")
        except Refusal as refusal:
            with self._transaction() as tx:
                tx.record(operation, type.token, id, name, refusal.code)
            raise ProviderError(self.cloud.refusal(type, operation, label, refusal)) from refusal
        failing = self._sent_again(failing, switches, operation, type.token, name)
        if failing is not None:
            refusal = Refusal(failing.code, failing.message)
            text = self.cloud.refusal(type, operation, label, refusal)
            if failing.when == "after":
                raise ProviderError(text)
            reasons.append(text)
        if reasons:
            raise PartialFailure(id, self._answered(type, outputs, given), reasons)
        return id, outputs

    def _failing(
        self, switches: fault_switches.Faults, operation: str, token: str, name: str
    ) -> fault_switches.Fail | None:
        """The failure that is due once the operation has happened. Raises the one that is due before."""
        matching = switches.matching("fail", operation, token, name)
        if not matching:
            return None
        with self._transaction() as tx:
            due = next((rule for counter, rule in matching if tx.next(counter) <= rule.first), None)
        if due is not None and due.when == "before":
            raise Refusal(due.code, due.message)
        return due

    def _sent_again(
        self,
        failing: fault_switches.Fail | None,
        switches: fault_switches.Faults,
        operation: str,
        token: str,
        name: str,
    ) -> fault_switches.Fail | None:
        """The failure that the user sees: none, where an answer was lost and a later one of the same request came."""
        if failing is None or failing.when != "after" or not self.cloud.repeatable:
            return failing
        for attempt in range(self.cloud.retries(self.config)):
            again = self._failing(switches, operation, token, name)
            if again is None:
                self.log("debug", f"{token}: tried again {attempt + 1} times after a lost answer", "")
                return None
        return failing

    def _throttle(
        self,
        switches: fault_switches.Faults,
        type: ResourceType | None,
        operation: str,
        token: str,
        name: str,
        id: str,
    ) -> None:
        """Let calls through once the cloud has refused as many as the switch says."""
        for counter, rule in switches.matching("throttle", operation, token, name):
            attempts = self.cloud.retries(self.config) + 1
            for attempt in range(attempts):
                with self._transaction() as tx:
                    used = tx.next(counter)
                if used > rule.first:
                    if attempt:
                        self.log(
                            "debug",
                            f"{token}: tried again {attempt} times after {self.cloud.throttling[0]}",
                            "",
                        )
                    break
            else:
                code, message = self.cloud.throttling
                refusal = Refusal(code, message, status=self.cloud.throttling_status)
                if type is None:
                    raise ProviderError(self.cloud.refusal(None, operation, id, refusal))
                raise refusal

    def _wait(self, seconds: float) -> None:
        if seconds:
            self._cancelled.wait(seconds)

    def _answer(self, context: Any, work: Callable[[], T]) -> T:
        """The work's result; what it refuses becomes the answer's status, without a traceback."""
        try:
            return work()
        except PartialFailure as failure:
            _abort_partial(context, failure)
        except ProviderError as problem:
            context.abort(grpc.StatusCode.UNKNOWN, str(problem))
        except Refusal as refusal:
            context.abort(grpc.StatusCode.UNKNOWN, self.cloud.refusal(None, "read", "", refusal))
        raise AssertionError("abort returned")


def configuration(given: Mapping[str, Any]) -> dict[str, Any]:
    """A provider's settings as values: the engine hands over everything that is not text as JSON text."""
    config = {}
    for name, value in plain(given).items():
        if (isinstance(value, str) and value[:1] in ("{", "[")) or value in ("true", "false"):
            try:
                config[name] = json.loads(value)
                continue
            except ValueError:
                pass
        config[name] = value
    return config


def _kept(type: ResourceType, outputs: Mapping[str, Any]) -> dict[str, Any]:
    """What of the outputs goes into the database: all but what only the engine may keep."""
    return {key: value for key, value in outputs.items() if key not in type.secrets}


def _own(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs without the engine's own keys."""
    return {key: value for key, value in inputs.items() if not key.startswith("__")}


def _naming(request: Any) -> Naming:
    seed = request.randomSeed or os.urandom(32)
    if not request.HasField("autonaming"):
        return Naming(seed)
    mode = provider_pb2.CheckRequest.AutonamingOptions.Mode.Name(request.autonaming.mode).lower()
    return Naming(seed, mode, request.autonaming.proposed_name)


def _abort_partial(context: Any, failure: PartialFailure) -> NoReturn:
    """The status that tells the engine a resource exists but is not ready."""
    detail = provider_pb2.ErrorResourceInitFailed(
        id=failure.id, properties=to_struct(failure.outputs), reasons=failure.reasons
    )
    message = failure.reasons[0] if failure.reasons else "the resource is not ready"
    status = status_pb2.Status(code=grpc.StatusCode.UNKNOWN.value[0], message=message)
    status.details.add().Pack(detail)
    context.set_trailing_metadata((("grpc-status-details-bin", status.SerializeToString()),))
    context.abort(grpc.StatusCode.UNKNOWN, message)
    raise AssertionError("abort returned")


def _type_token(urn: str) -> str:
    return urn.split("::")[2].rpartition("$")[2]


def _name(urn: str) -> str:
    return urn.split("::", 3)[-1]
