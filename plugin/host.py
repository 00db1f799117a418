"""The plugin's provider: bad input is answered by property, as Pulumi's own providers do, without a traceback."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from pulumi.errors import InputPropertiesError
from pulumi.provider.experimental.component import ComponentProvider
from pulumi.provider.server import ComponentInitError
from pydantic.alias_generators import to_camel

from gpu_fabric.components.problems import InvalidInputError, render_path

#: What a program names itself, below these keys.
_NAMED_BY_THE_PROGRAM = ("tags", "environment")


def spelled(path: Sequence[str | int]) -> tuple[str | int, ...]:
    """The path as the schema spells it, in camelCase: Python's own arguments are in snake_case."""
    return tuple(
        to_camel(part)
        if isinstance(part, str)
        and re.fullmatch(r"[a-z]+(_[a-z0-9]+)+", part)
        and not (number and path[number - 1] in _NAMED_BY_THE_PROGRAM)
        else part
        for number, part in enumerate(path)
    )


class Host(ComponentProvider):
    """Serves components that raise InvalidInputError."""

    def construct(self, *arguments: Any, **named: Any) -> Any:
        try:
            return super().construct(*arguments, **named)
        except ComponentInitError as error:
            if not isinstance(error.inner, InvalidInputError):
                raise
            first = str(error.inner).partition("\n")[0]
            raise InputPropertiesError(
                first,
                [
                    {
                        "property_path": render_path(spelled(problem.path)),
                        "reason": f"{problem.what}; {problem.remedy}",
                    }
                    for problem in error.inner.problems
                ],
            ) from None
