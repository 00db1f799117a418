"""What all components share: options for children, and one way from arguments to settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import pulumi

from gpu_fabric.components.problems import InvalidInputError, Problem
from gpu_fabric.components.settings import Settings, Spelling, read

Model = TypeVar("Model", bound=Settings)


def child(parent: pulumi.Resource, **options: Any) -> pulumi.ResourceOptions:
    """Options of a component's child: `parent`, and what the child alone needs."""
    return pulumi.ResourceOptions(parent=parent, **options)


def settings_from_arguments(
    model: type[Model],
    arguments: Mapping[str, Any] | Model,
    component: str,
    checks: Callable[[Model], list[Problem]] | None = None,
) -> Model:
    """Arguments in snake_case as a model. Raises InvalidInputError with every problem before any resource exists."""
    if isinstance(arguments, model):
        problems = checks(arguments) if checks else []
        if problems:
            raise InvalidInputError(component, problems)
        return arguments
    settings, problems = read(model, arguments, spelling=Spelling.SNAKE, checks=checks)
    if settings is None or problems:
        raise InvalidInputError(component, problems)
    return settings
