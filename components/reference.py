"""docs/stack-file.md, written from the settings themselves: `python -m gpu_fabric.components.reference > …`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from enum import StrEnum
from typing import Any, get_args

from pydantic import BaseModel
from pydantic.alias_generators import to_camel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from gpu_fabric.components.aws.settings import AwsClusterSettings
from gpu_fabric.components.azure.settings import AzureClusterSettings
from gpu_fabric.components.interconnect.settings import InterconnectSettings
from gpu_fabric.components.settings import leaf_types
from gpu_fabric.planning.spec import TrainingSpec

SECTIONS: dict[str, type[BaseModel]] = {
    "aws": AwsClusterSettings,
    "azure": AzureClusterSettings,
    "interconnect": InterconnectSettings,
    "training": TrainingSpec,
}
"""Key under `fabric` → its settings."""

_INTRODUCTION = """\
# The stack file

Written from the settings in `components/` by `python -m gpu_fabric.components.reference`; a test holds the two equal.

Every key lies under `gpu-fabric:fabric` in `Pulumi.<stack>.yaml`. Component arguments have the same shape with keys in
snake_case (`instance_type`, `root_volume.size_gib`). An unknown key is refused. A key marked **required** must
be given; one marked with another key, where that one is.
`fabric.sizes` describes sizes that the catalog lacks: [sizes.md](sizes.md).

An editor with a YAML language server completes and checks the file by [its schema](stack-file.schema.json), which its
first line names: `# yaml-language-server: $schema=docs/stack-file.schema.json`. For a project elsewhere,
`python -m gpu_fabric.components.stack_schema > stack-file.schema.json` writes it.
"""


def _default(field: FieldInfo) -> str:
    value = field.default
    if value is PydanticUndefined:
        return "" if field.default_factory else "**required**"
    if value is None or isinstance(value, BaseModel) or value == ():
        return ""
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f"`{value}`"


def _choices(annotation: Any) -> list[str]:
    return [
        f"`{member.value}`"
        for one in leaf_types(annotation)
        if isinstance(one, type) and issubclass(one, StrEnum)
        for member in one
    ]


def _rows(model: type[BaseModel], path: str) -> Iterator[str]:
    for name, field in model.model_fields.items():
        key = f"{path}.{to_camel(name)}"
        below = [
            one
            for one in leaf_types(field.annotation)
            if isinstance(one, type) and issubclass(one, BaseModel)
        ]
        if len(below) > 1:
            kinds = {str(get_args(one.model_fields["kind"].annotation)[0]): one for one in below}
            default = getattr(field.default, "kind", "")
            names = ", ".join(f"`{kind}`" for kind in kinds)
            yield f"| `{key}.kind` | {f'`{default}`' if default else ''} | one of {names} |"
            for kind, one in kinds.items():
                for row in _rows(one, key):
                    if not row.startswith(f"| `{key}.kind`"):
                        yield row.removesuffix(" |") + f" (`kind: {kind}`) |"
            continue
        about = " ".join((field.description or "").split())
        if below:
            if str in leaf_types(field.annotation):
                yield f"| `{key}` | {_default(field)} | {about} |"
            for row in _rows(below[0], key):
                # A map that may be left out as a whole asks for its own only where it is there.
                yield (
                    row
                    if field.is_required()
                    else row.replace("| **required** |", f"| with `{to_camel(name)}` |")
                )
            continue
        choices = _choices(field.annotation)
        text = " ".join(filter(None, [f"One of {', '.join(choices)}." if choices else "", about]))
        yield f"| `{key}` | {_default(field)} | {text} |"


def render() -> str:
    """The whole page."""
    parts = [_INTRODUCTION]
    for name, model in SECTIONS.items():
        parts.append(f"\n## {name}\n\n| key | default | meaning |\n|---|---|---|\n")
        parts += [f"{row}\n" for row in _rows(model, name)]
    return "".join(parts)


if __name__ == "__main__":
    sys.stdout.write(render())
