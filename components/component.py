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


def has_own_provider(package: str, opts: pulumi.ResourceOptions | None) -> bool:
    """Whether resources of `package` under `opts` have another provider than the stack's configuration makes."""
    if opts is None:
        return False
    given = opts.providers or []
    named = set(given) if isinstance(given, Mapping) else {provider.package for provider in given}
    if opts.provider is not None:
        named.add(opts.provider.package)
    inherited = opts.parent is not None and opts.parent.get_provider(f"{package}:index:any") is not None
    return package in named or inherited


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
