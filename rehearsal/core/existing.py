"""Objects that are there before the program: what somebody else made, for a program to adopt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .errors import Problem
from .faults import Faults
from .resource import Call, Cloud
from .store import Store


class CannotExist(Exception):  # noqa: N818 (it says what is wrong with the object)
    """The inputs do not fit the type. ``problems`` has all of them."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("\n".join(f"{each.path}: {each.reason}" for each in problems))
        self.problems = problems


def hold(
    cloud: Cloud, store: Store, token: str, inputs: Mapping[str, Any], config: Mapping[str, Any], id: str = ""
) -> str:
    """Make the object as the cloud would, under ``id`` if one is given, and return its id.

    Raises KeyError for a type the cloud does not know, CannotExist for inputs that do not fit, and what the type's own
    functions refuse.
    """
    type = cloud.by_token[token]
    problems = list(cloud.schema.problems(inputs, cloud.type_schema(token).inputs, cloud.wording))
    with store.transaction(cloud.name) as tx:
        call = Call(tx=tx, type=type, config=config, inputs=dict(inputs), name=id, faults=Faults())
        problems = problems or list(type.check(call))
        if problems:
            raise CannotExist(problems)
        made = type.create(call)
        defaults = {key: value for key, value in type.defaults.items() if inputs.get(key) is None}
        outputs = {**inputs, **defaults, **cloud.common_outputs(call), **type.known(call), **made.outputs}
        tx.put(
            type.kind,
            made.id,
            {key: value for key, value in outputs.items() if value is not None} | {"id": made.id},
        )
        if id and id != made.id:
            tx.rename(made.id, id)
        tx.record("hold", token, id or made.id, "", "done")
    return id or made.id
