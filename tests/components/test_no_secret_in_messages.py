"""Whatever secret stands under whatever key of a stack file, no message repeats it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel

from gpu_fabric.components.aws.settings import AwsClusterSettings
from gpu_fabric.components.azure.settings import AzureClusterSettings
from gpu_fabric.components.config import read_fabric
from gpu_fabric.components.interconnect.settings import InterconnectSettings
from gpu_fabric.components.problems import InvalidInputError
from gpu_fabric.components.settings import leaf_types
from tests.components.test_interconnect_checks import AWS, AZURE, LINK

#: Made up, in the published forms: an AWS secret key, a service key, a token, a private key.
SECRETS = {
    "secret key": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "service key": "3f2b8c1e-6f0a-4c5d-9e7b-0123456789ab",
    "token": "eyJhbGciOiJub25lIn0.eyJzdWIiOiJub2JvZHkifQ.c2ln",
    "private key": "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjE\n-----END OPENSSH PRIVATE KEY-----",
}
SECTIONS: dict[str, type[BaseModel]] = {
    "aws": AwsClusterSettings,
    "azure": AzureClusterSettings,
    "interconnect": InterconnectSettings,
}
GOOD: dict[str, dict[str, Any]] = {
    "aws": {"aws": AWS},
    "azure": {"azure": AZURE},
    "interconnect": {"aws": AWS, "azure": AZURE, "interconnect": LINK},
}


def paths(model: type[BaseModel], before: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every key of a model and of the models below it, as a stack file writes it."""
    for name, field in model.model_fields.items():
        path = (*before, field.alias or name)
        yield path
        for below in leaf_types(field.annotation):
            if issubclass(below, BaseModel):
                yield from paths(below, path)


PATHS = [(section, *path) for section, model in SECTIONS.items() for path in paths(model)]


def with_value(path: tuple[str, ...], value: Any) -> dict[str, Any]:
    given: dict[str, Any] = json.loads(json.dumps(GOOD[path[0]]))
    here = given
    for part in path[:-1]:
        if not isinstance(here.get(part), dict):
            here[part] = {}
        here = here[part]
    here[path[-1]] = value
    return given


def said_of(given: dict[str, Any]) -> str:
    try:
        read_fabric(given, aws_region="us-east-1", azure_location="eastus")
    except InvalidInputError as refused:
        return str(refused)
    return ""


def test_the_keys_that_are_tried_are_those_of_the_stack_file() -> None:
    assert ("interconnect", "manual", "connectionIds") in PATHS
    assert ("aws", "capacity", "reservationId") in PATHS
    assert len(PATHS) > 100


def heart(secret: str) -> str:
    return secret.splitlines()[1] if "\n" in secret else secret


@pytest.mark.parametrize("section", SECTIONS)
def test_no_message_of_any_key_repeats_a_secret(section: str) -> None:
    every = list(SECRETS.values())
    for path in PATHS:
        if path[0] == section:
            for value in (*every, every, {"x": every, **dict.fromkeys(every, 1)}):
                said = said_of(with_value(path, value))
                assert not [one for one in every if heart(one) in said], (path, said)


@pytest.mark.parametrize("key", ["bgpKey", "bgpKeyFrom"])
def test_what_stands_where_a_key_or_its_name_belongs_is_never_repeated(key: str) -> None:
    """Of any form: `hunter2` is a key as well."""
    for value in ("hunter2", "hunter2 SECRET!", ["hunter2"], {"value": "hunter2"}):
        said = said_of(with_value(("interconnect", key), value))
        assert "hunter2" not in said, said
        assert f"fabric.interconnect.{key}" in said
