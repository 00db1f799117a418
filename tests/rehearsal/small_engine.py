"""As much of the engine as a rule's test needs: check, then create, or diff and then update or replace.

It calls the provider in this process, with no gRPC between; the protocol has tests of its own.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pulumi.runtime.proto import provider_pb2, status_pb2

from gpu_fabric.rehearsal.clouds import load
from gpu_fabric.rehearsal.core.provider import Provider
from gpu_fabric.rehearsal.core.store import Store
from gpu_fabric.rehearsal.core.values import from_struct, plain, to_struct


class Failed(Exception):  # noqa: N818 (named for what a test reads: the operation failed)
    """The provider failed the operation, with this text."""

    def __init__(self, text: str, partial: Any = None) -> None:
        super().__init__(text)
        self.text = text
        self.partial = partial
        self.inputs: dict[str, Any] = {}


class Context:
    """The server side of one call, without a server."""

    def __init__(self) -> None:
        self.metadata: Any = ()

    def set_trailing_metadata(self, metadata: Any) -> None:
        self.metadata = metadata

    def abort(self, code: Any, details: str) -> None:
        raise Failed(details, self.metadata)


@dataclass
class Resource:
    """What the engine remembers of one resource."""

    token: str
    id: str
    inputs: dict[str, Any]
    outputs: dict[str, Any]
    urn: str

    def __getitem__(self, name: str) -> Any:
        return plain(self.outputs)[name]


@dataclass
class Plan:
    """The answer of a diff: what changes, and what of it replaces."""

    changes: list[str]
    replaces: list[str]
    delete_first: bool = False
    detailed: dict[str, str] = field(default_factory=dict)


class SmallEngine:
    """A stack of one simulated cloud, and the operations of the engine on it."""

    def __init__(self, cloud: str, database: Path, **config: Any) -> None:
        self.logs: list[tuple[str, str]] = []
        self.provider = Provider(
            load(cloud), database, log=lambda severity, message, urn: self.logs.append((severity, message))
        )
        self.store = Store(database)
        self.provider.Configure(provider_pb2.ConfigureRequest(args=to_struct(config)), Context())
        self.resources: dict[str, Resource] = {}

    def urn(self, token: str, name: str) -> str:
        return f"urn:pulumi:test::fabric::{token}::{name}"

    def check(
        self, token: str, name: str, inputs: dict[str, Any], old: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """The checked inputs; Failed with every problem, one a line."""
        urn = self.urn(token, name)
        answer = self.provider.Check(
            provider_pb2.CheckRequest(
                urn=urn,
                olds=to_struct(old or {}),
                news=to_struct(inputs),
                randomSeed=hashlib.sha256(urn.encode()).digest(),
            ),
            Context(),
        )
        if answer.failures:
            raise Failed("\n".join(each.reason for each in answer.failures))
        return from_struct(answer.inputs)

    def diff(self, token: str, name: str, inputs: dict[str, Any]) -> Plan:
        """What would change if the resource got these inputs."""
        return self._diff(self.resources[name], self.check(token, name, inputs, self.resources[name].inputs))

    def _diff(self, old: Resource, checked: dict[str, Any]) -> Plan:
        answer = self.provider.Diff(
            provider_pb2.DiffRequest(
                id=old.id,
                urn=old.urn,
                olds=to_struct(old.outputs),
                old_inputs=to_struct(old.inputs),
                news=to_struct(checked),
            ),
            Context(),
        )
        kinds = provider_pb2.PropertyDiff.Kind
        return Plan(
            changes=sorted(answer.diffs),
            replaces=sorted(answer.replaces),
            delete_first=answer.deleteBeforeReplace,
            detailed={path: kinds.Name(each.kind) for path, each in answer.detailedDiff.items()},
        )

    def up(self, token: str, name: str, inputs: dict[str, Any] | None = None, /, **more: Any) -> Resource:
        """Make the resource, or bring it to these inputs as the engine would."""
        given = {**(inputs or {}), **more}
        old = self.resources.get(name)
        assert old is None or old.token == token, f"the test gives the name {name} twice"
        if old is None:
            return self._create(token, name, self.check(token, name, given))
        checked = self.check(token, name, given, old.inputs)
        plan = self._diff(old, checked)
        if plan.replaces:
            if plan.delete_first:
                self.destroy(name)
            made = self._create(token, name, self.check(token, name, given))
            if not plan.delete_first:
                self._delete(old)
            return made
        if plan.changes:
            answer = self.provider.Update(
                provider_pb2.UpdateRequest(
                    id=old.id,
                    urn=old.urn,
                    olds=to_struct(old.outputs),
                    old_inputs=to_struct(old.inputs),
                    news=to_struct(checked),
                ),
                Context(),
            )
            old.outputs = from_struct(answer.properties)
        old.inputs = checked
        return old

    def known_from(self, failed: Failed, token: str, name: str) -> Resource:
        """What the engine keeps of a resource that was made and then failed."""
        status = status_pb2.Status()
        status.ParseFromString(dict(failed.partial)["grpc-status-details-bin"])
        detail = provider_pb2.ErrorResourceInitFailed()
        assert status.details[0].Unpack(detail)
        outputs = from_struct(detail.properties)
        return Resource(token, detail.id, failed.inputs, outputs, self.urn(token, name))

    def update(self, name: str) -> Resource:
        """Update a resource to the inputs it has, as the engine does with one that is half made."""
        old = self.resources[name]
        answer = self.provider.Update(
            provider_pb2.UpdateRequest(
                id=old.id,
                urn=old.urn,
                olds=to_struct(old.outputs),
                old_inputs=to_struct(old.inputs),
                news=to_struct(old.inputs),
            ),
            Context(),
        )
        old.outputs = from_struct(answer.properties)
        return old

    def _create(self, token: str, name: str, checked: dict[str, Any]) -> Resource:
        urn = self.urn(token, name)
        try:
            answer = self.provider.Create(
                provider_pb2.CreateRequest(urn=urn, properties=to_struct(checked)), Context()
            )
        except Failed as failed:
            failed.inputs = checked
            raise
        made = Resource(token, answer.id, checked, from_struct(answer.properties), urn)
        self.resources[name] = made
        return made

    def preview(
        self, token: str, name: str, inputs: dict[str, Any] | None = None, /, **more: Any
    ) -> dict[str, Any]:
        """The outputs that a preview would show for a new resource, or for a changed one."""
        given = {**(inputs or {}), **more}
        old = self.resources.get(name)
        checked = self.check(token, name, given, old.inputs if old else None)
        if old is None:
            answer = self.provider.Create(
                provider_pb2.CreateRequest(
                    urn=self.urn(token, name), properties=to_struct(checked), preview=True
                ),
                Context(),
            )
            return from_struct(answer.properties)
        changed = self.provider.Update(
            provider_pb2.UpdateRequest(
                id=old.id,
                urn=old.urn,
                olds=to_struct(old.outputs),
                old_inputs=to_struct(old.inputs),
                news=to_struct(checked),
                preview=True,
            ),
            Context(),
        )
        return from_struct(changed.properties)

    def destroy(self, name: str) -> None:
        """Delete the resource."""
        self._delete(self.resources[name])
        del self.resources[name]

    def _delete(self, old: Resource) -> None:
        self.provider.Delete(
            provider_pb2.DeleteRequest(
                id=old.id, urn=old.urn, properties=to_struct(old.outputs), old_inputs=to_struct(old.inputs)
            ),
            Context(),
        )

    def destroy_all(self) -> None:
        """Delete every resource, the latest first."""
        for name in reversed(list(self.resources)):
            self.destroy(name)

    def refresh(self, name: str) -> Resource | None:
        """Read the resource again; None if it is gone."""
        old = self.resources[name]
        answer = self.provider.Read(
            provider_pb2.ReadRequest(
                id=old.id, urn=old.urn, properties=to_struct(old.outputs), inputs=to_struct(old.inputs)
            ),
            Context(),
        )
        if not answer.id:
            del self.resources[name]
            return None
        old.outputs, old.inputs = from_struct(answer.properties), from_struct(answer.inputs)
        return old

    def adopt(self, token: str, id: str) -> dict[str, Any] | None:
        """What ``.get()`` answers for an id: the properties, or None."""
        answer = self.provider.Read(
            provider_pb2.ReadRequest(id=id, urn=self.urn(token, "adopted")), Context()
        )
        return from_struct(answer.properties) if answer.id else None

    def invoke(self, token: str, /, **args: Any) -> dict[str, Any]:
        """The answer of a look-up."""
        answer = self.provider.Invoke(provider_pb2.InvokeRequest(tok=token, args=to_struct(args)), Context())
        if answer.failures:
            raise Failed("\n".join(f"{each.property}: {each.reason}" for each in answer.failures))
        return from_struct(getattr(answer, "return"))

    def held(self) -> list[str]:
        """The kinds of everything the cloud holds."""
        return sorted(each["kind"] for each in self.store.dump())
