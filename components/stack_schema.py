"""JSON Schema of the stack file, for editors.

Written by `python -m gpu_fabric.components.stack_schema > docs/stack-file.schema.json`.

Made from the models that read the file, so that an editor knows the keys, kinds and words that a run takes. What only a
run can know (whether a zone is of the region, whether a layout fits) is not in it.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from pydantic.json_schema import models_json_schema

from gpu_fabric.components.aws.settings import AwsClusterSettings
from gpu_fabric.components.azure.settings import AzureClusterSettings
from gpu_fabric.components.interconnect.settings import InterconnectSettings
from gpu_fabric.planning.spec import TrainingSpec

_SECTIONS = {
    "aws": (AwsClusterSettings, "The nodes on AWS."),
    "azure": (AzureClusterSettings, "The nodes on Azure."),
    "interconnect": (InterconnectSettings, "The private link between the two."),
    "training": (TrainingSpec, "What is trained, for the prediction of step time."),
}


#: Limits that pydantic leaves under its own names where a validator of ours comes first → JSON Schema's names.
_LIMITS = {"ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "lt": "exclusiveMaximum"}

_ENCRYPTED = {
    "type": "object",
    "description": "A value that Pulumi encrypted: `pulumi config set --secret --path gpu-fabric:fabric.…`.",
    "properties": {"secure": {"type": "string"}},
    "required": ["secure"],
    "additionalProperties": False,
}


def _written(node: Any) -> Any:
    """A part of pydantic's schema in JSON Schema's words; free text may also be encrypted."""
    if isinstance(node, list):
        return [_written(item) for item in node]
    if not isinstance(node, dict):
        return node
    new = {_LIMITS.get(key, key): _written(value) for key, value in node.items()}
    if new.get("type") == "string" and not {"enum", "const"} & set(new):
        rest = {key: value for key, value in new.items() if key != "type"}
        return {**rest, "anyOf": [{"type": "string"}, {"$ref": "#/$defs/Encrypted"}]}
    return new


def schema() -> str:
    """The schema as text, the same to the byte for the same models."""
    models = [model for model, _ in _SECTIONS.values()]
    references, definitions = models_json_schema([(model, "validation") for model in models], by_alias=True)
    sections: dict[str, Any] = {
        name: {"allOf": [references[(model, "validation")]], "description": about}
        for name, (model, about) in _SECTIONS.items()
    }
    sections["sizes"] = {
        "type": "object",
        "description": "Sizes of your own: the fields of a catalog row (docs/sizes.md).",
        "additionalProperties": {"type": "object"},
    }
    document = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Stack file of gpu-fabric",
        "type": "object",
        "properties": {
            "config": {
                "type": "object",
                "properties": {
                    "aws:region": {"type": "string"},
                    "azure-native:location": {"type": "string"},
                    "gpu-fabric:fabric": {
                        "type": "object",
                        "properties": sections,
                        "additionalProperties": False,
                        "anyOf": [{"required": ["aws"]}, {"required": ["azure"]}],
                    },
                },
            }
        },
        "$defs": {**_written(definitions["$defs"]), "Encrypted": _ENCRYPTED},
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(schema())
