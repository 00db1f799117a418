"""The plugin's provider: bad input is answered by property, as Pulumi's own providers do, without a traceback."""

from __future__ import annotations

from typing import Any

from pulumi.errors import InputPropertiesError
from pulumi.provider.experimental.component import ComponentProvider
from pulumi.provider.server import ComponentInitError

from gpu_fabric.components.problems import InvalidInputError, render_path


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
                        "property_path": render_path(problem.path),
                        "reason": f"{problem.what}; {problem.remedy}",
                    }
                    for problem in error.inner.problems
                ],
            ) from None
