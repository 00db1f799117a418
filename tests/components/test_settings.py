"""The boundary: from what a person wrote to a frozen model, or to everything that is wrong with it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pulumi
import pytest
from pydantic import Field

from gpu_fabric.components.problems import InvalidInputError, Problem, raise_if_any, render_path
from gpu_fabric.components.settings import Identifier, Settings, Spelling, Switch, Text, WholeNumber, read
from tests.components.recorder import record


class Square(Settings):
    kind: Literal["square"] = "square"


class Circle(Settings):
    kind: Literal["circle"]
    outer_radius: Annotated[WholeNumber, Field(ge=1, description="the radius", examples=[1])]


class Inner(Settings):
    is_on: Switch = False
    names: tuple[Text, ...] = ()


class Outer(Settings):
    node_count: Annotated[WholeNumber, Field(ge=1, description="the number of nodes", examples=[1])]
    shape: Annotated[Square | Circle, Field(discriminator="kind")] = Square()
    inner_part: Inner = Inner()
    given_id: Identifier | None = None
    tags: dict[str, Text] = Field(default_factory=dict)


def problems(given: Any, spelling: Spelling = Spelling.CAMEL) -> list[str]:
    return [str(problem) for problem in read(Outer, given, spelling=spelling)[1]]


def test_a_stack_file_is_written_in_camel_case() -> None:
    settings, found = read(Outer, {"nodeCount": 2, "innerPart": {"isOn": True, "names": ["a"]}})
    assert found == []
    assert settings is not None
    assert (settings.node_count, settings.inner_part.is_on, settings.inner_part.names) == (2, True, ("a",))


def test_arguments_are_written_in_snake_case_and_their_problems_too() -> None:
    settings, found = read(Outer, {"node_count": 2, "inner_part": {"is_on": True}}, spelling=Spelling.SNAKE)
    assert found == []
    assert settings is not None
    assert settings.inner_part.is_on
    assert problems({"node_count": 2, "inner_part": {"is_on": 3}}, Spelling.SNAKE) == [
        "inner_part.is_on: 3 is a number; write true or false"
    ]


def test_snake_case_in_a_stack_file_is_an_unknown_key_with_the_right_one_named() -> None:
    assert problems({"nodeCount": 1, "inner_part": {}}) == [
        "inner_part: is not a key that is known here; did you mean `innerPart`? "
        "known keys: nodeCount, shape, innerPart, givenId, tags"
    ]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (0, "nodeCount: 0 is too small; give at least 1"),
        (-1, "nodeCount: -1 is too small; give at least 1"),
        (1.5, "nodeCount: 1.5 is not a whole number; give the number of nodes"),
        ("4", "nodeCount: '4' is not a whole number; give the number of nodes"),
        (True, "nodeCount: True is not a whole number; give the number of nodes"),
        (None, "nodeCount: None is not a whole number; give the number of nodes"),
        ([4], "nodeCount: [4] is not a whole number; give the number of nodes"),
        (float("inf"), "nodeCount: inf is not a whole number; give the number of nodes"),
        (float("nan"), "nodeCount: nan is not a whole number; give the number of nodes"),
    ],
)
def test_a_count_is_a_whole_number_of_at_least_one(value: Any, message: str) -> None:
    assert problems({"nodeCount": value}) == [message]


@pytest.mark.parametrize("value", [1, 4.0])
def test_a_whole_number_may_arrive_as_a_float_as_it_does_from_other_languages(value: float) -> None:
    settings, _ = read(Outer, {"nodeCount": value})
    assert settings is not None
    assert settings.node_count == int(value)
    assert type(settings.node_count) is int


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["a"], "a list stands where a map belongs; write `key: value` lines"),
        ("text", "text stands where a map belongs; write `key: value` lines"),
        (
            {"nodeCount": 1, "innerPart": [1]},
            "innerPart: a list stands where a map belongs; write `key: value` lines",
        ),
        (
            {"nodeCount": 1, "innerPart": {"names": {"a": 1}}},
            "innerPart.names: a map stands where a list belongs; write `- item` lines",
        ),
        (
            {"nodeCount": 1, "innerPart": {"names": ["a", 2]}},
            "innerPart.names[1]: 2 is a number, not text; put it in quotes",
        ),
        (
            {"nodeCount": 1, "shape": {"kind": "cube"}},
            "shape.kind: 'cube' is not a choice; give one of 'square', 'circle'",
        ),
        ({"nodeCount": 1, "shape": {}}, "shape.kind: is missing; give the `kind`, one of 'square', 'circle'"),
        (
            {"nodeCount": 1, "shape": {"kind": "circle"}},
            "shape.outerRadius: is missing; give the radius",
        ),
        (
            {"nodeCount": 1, "shape": {"kind": "circle", "outerRadios": 2}},
            "shape.outerRadios: is not a key that is known here; did you mean `outerRadius`? "
            "known keys: kind, outerRadius",
        ),
        ({"nodeCount": 1, "givenId": 5}, "givenId: 5 is not an id; give another, or drop the key"),
        ({"nodeCount": 1, "givenId": ""}, "givenId: '' is not an id; give another, or drop the key"),
        ({"nodeCount": 1, "tags": {"a": 1}}, "tags.a: 1 is a number, not text; put it in quotes"),
    ],
)
def test_each_kind_of_wrong_shape_is_said_with_its_place_and_remedy(given: Any, message: str) -> None:
    assert message in problems(given)


def test_all_problems_are_said_at_once_and_the_rest_is_still_checked() -> None:
    def check(settings: Outer) -> list[Problem]:
        return [Problem(("inner_part", "is_on"), "is on", "turn it off")] if settings.inner_part.is_on else []

    given = {"nodeCount": 0, "wrong": 1, "innerPart": {"isOn": True, "nams": []}}
    _, found = read(Outer, given, path=("fabric", "aws"), checks=check)
    assert sorted(map(str, found)) == [
        "fabric.aws.innerPart.isOn: is on; turn it off",
        "fabric.aws.innerPart.nams: is not a key that is known here; did you mean `names`? known keys: isOn, names",
        "fabric.aws.nodeCount: 0 is too small; give at least 1",
        "fabric.aws.wrong: is not a key that is known here; known keys: nodeCount, shape, innerPart, givenId, tags",
    ]


def test_a_rule_says_nothing_about_a_value_that_could_not_be_read() -> None:
    def check(settings: Outer) -> list[Problem]:
        return [Problem(("node_count",), "is the stand-in", "never say this")]

    assert [found.what for found in read(Outer, {"nodeCount": "many"}, checks=check)[1]] == [
        "'many' is not a whole number"
    ]


def test_a_users_own_keys_keep_their_spelling_in_a_problem() -> None:
    assert problems({"node_count": 1, "tags": {"teamName": 1}}, Spelling.SNAKE) == [
        "tags.teamName: 1 is a number, not text; put it in quotes"
    ]


def test_an_id_may_be_known_only_after_deployment() -> None:
    def program() -> None:
        later = pulumi.Output.from_input("subnet-1")
        settings, found = read(Outer, {"nodeCount": 1, "givenId": later})
        assert found == []
        assert settings is not None
        assert settings.given_id is later

    record(program)


def test_a_path_is_written_as_a_person_would() -> None:
    assert render_path(("fabric", "aws", "bootstrap", "after", 1)) == "fabric.aws.bootstrap.after[1]"


def test_the_error_counts_the_problems_and_lists_each_once() -> None:
    one = Problem(("b",), "is wrong", "mend it")
    with pytest.raises(InvalidInputError) as refused:
        raise_if_any("the stack file", [one, Problem(("a",), "is missing", "give it"), one])
    assert str(refused.value) == (
        "the stack file has 2 problems; nothing was planned:\n  a: is missing; give it\n  b: is wrong; mend it"
    )
    raise_if_any("the stack file", [])
