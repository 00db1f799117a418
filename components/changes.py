"""What a change of the pattern that nodes are made from means for nodes that run: said by name at preview and before an
update. Neither cloud changes them: an Auto Scaling group and a scale set start later nodes from the new pattern.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pulumi

Parts = Mapping[str, tuple[str, ...]]
"""What a person calls a part of a node → its place in the pattern's inputs."""


def at(inputs: Any, place: tuple[str, ...]) -> Any:
    """The value at a place in inputs of any shape; None where there is none."""
    for key in place:
        inputs = inputs.get(key) if isinstance(inputs, Mapping) else None
    return inputs


def changed_parts(parts: Parts, old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Names of the parts of a node that differ between two inputs."""
    return [part for part, place in parts.items() if at(old, place) != at(new, place)]


def kept_message(name: str, changed: list[str], *, pattern: str, who_keeps: str, follow: str) -> str | None:
    """What an update means for running nodes, or None where it does not touch what a node is made of.

    `who_keeps` is a sentence such as "The 4 nodes of train-fleet keep what they have"; `follow` says how to bring them
    along and what that ends.
    """
    if not changed:
        return None
    *most, last = changed
    what = f"{', '.join(most)} and {last}" if most else last
    return (
        f"{name}: {what} will change in {pattern}. {who_keeps}; nodes that start later get the new. {follow}"
    )


def say_before_update(
    name: str, message: Callable[[pulumi.ResourceHookArgs], str | None]
) -> pulumi.ResourceHookBinding:
    """Says `message` at preview, and again before the update itself, of the resource with this unique name."""

    def say(arguments: pulumi.ResourceHookArgs) -> None:
        text = message(arguments)
        if text is not None:
            pulumi.log.warn(text)

    # A message must not be able to fail an update.
    options = pulumi.ResourceHookOptions(on_dry_run=True, ignore_errors=True)
    hook = pulumi.ResourceHook(f"{name}: what an update does to its nodes", say, options)
    return pulumi.ResourceHookBinding(before_update=[hook])
