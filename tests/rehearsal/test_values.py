"""Unknown values and secrets survive the way through the simulated clouds."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf import json_format
from hypothesis import given
from hypothesis import strategies as st

from gpu_fabric.rehearsal.core.values import (
    UNKNOWN,
    Secret,
    from_struct,
    has_unknown,
    keep_secret,
    plain,
    secret_names,
    to_struct,
)

scalars = (
    st.text(max_size=8)
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.just(UNKNOWN)
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=6), inner, max_size=3)
        | inner.map(Secret)
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.text(max_size=6), values, max_size=4))
def test_what_is_encoded_comes_back(properties):
    assert from_struct(to_struct(properties)) == properties


@given(values)
def test_no_secret_is_left_in_a_plain_value(value):
    assert "Secret" not in repr(plain(value))


def test_the_engine_s_own_encodings_are_understood():
    wire = json_format.ParseDict(
        {
            "unknown": "04da6b54-80e4-46f7-96ec-b56ff0331ba9",
            "unknownNumber": "3eeb2bf0-c639-47a8-9e75-3b44932eb421",
            "secret": {
                "4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270",
                "value": "key",
            },
            "output": {
                "4dabf18193072939515e22adb298388d": "d0e6a833031e9bbcd3f4e8bde6ca49a4",
                "value": 3,
                "secret": True,
            },
            "unknownOutput": {"4dabf18193072939515e22adb298388d": "d0e6a833031e9bbcd3f4e8bde6ca49a4"},
            "resource": {
                "4dabf18193072939515e22adb298388d": "5cf8f73096256a8f31e491e813e4eb8e",
                "urn": "urn:pulumi:a::b::c::d",
                "id": "vpc-0",
            },
        },
        to_struct({}),
    )
    assert from_struct(wire) == {
        "unknown": UNKNOWN,
        "unknownNumber": UNKNOWN,
        "secret": Secret("key"),
        "output": Secret(3),
        "unknownOutput": UNKNOWN,
        "resource": "vpc-0",
    }


def test_a_secret_does_not_show_in_a_representation():
    assert repr({"key": Secret("hunter2")}) == "{'key': Secret(…)}"


def test_an_unknown_is_neither_true_nor_false():
    with pytest.raises(TypeError, match="neither true nor false"):
        bool(UNKNOWN)


@pytest.mark.parametrize(
    ("outputs", "inputs", "secret"),
    [
        ({"a": 1, "b": 2}, {"a": Secret(1)}, {"a": Secret(1), "b": 2}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": Secret(1)}}, {"a": {"b": Secret(1), "c": 2}}),
        ({"a": [1, 2]}, {"a": [1, Secret(2)]}, {"a": [1, Secret(2)]}),
        ({"a": [1, 2, 3]}, {"a": [1, Secret(2)]}, {"a": Secret([1, 2, 3])}),
    ],
)
def test_an_output_is_secret_where_its_input_is(outputs: Any, inputs: Any, secret: Any):
    assert keep_secret(outputs, inputs) == secret


def test_what_is_secret_in_part_counts_as_secret_by_name():
    assert secret_names({"a": [{"b": Secret(1)}], "c": 2}) == ["a"]


def test_an_unknown_inside_a_secret_is_found():
    assert has_unknown({"a": Secret({"b": [UNKNOWN]})})
    assert not has_unknown({"a": Secret(1)})
