"""From a mapping that a person wrote to a frozen model, or to the list of everything that is wrong with it.

One shape serves two spellings: camelCase in the stack file, snake_case in the arguments of a component. Keys are
closed: an unknown one is a problem, with the nearest known key.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from enum import StrEnum
from typing import Annotated, Any, TypeVar, get_args

import pulumi
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    StrictBool,
    StrictStr,
    TypeAdapter,
    ValidationError,
)
from pydantic.alias_generators import to_camel, to_snake
from pydantic.fields import FieldInfo

from gpu_fabric.components.problems import Path, Problem


class Spelling(StrEnum):
    """How keys are written where the input comes from."""

    CAMEL = "camelCase"
    SNAKE = "snake_case"


class Settings(BaseModel):
    """A frozen, closed model; fields are snake_case here and camelCase in a stack file."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        use_attribute_docstrings=True,
        arbitrary_types_allowed=True,
    )


def _whole_number(value: Any) -> int:
    # Other languages' numbers arrive as floats, so 4.0 is the whole number 4.
    if isinstance(value, bool) or not isinstance(value, int | float) or not _is_finite(value):
        raise ValueError(f"{_shown(value)} is not a whole number")
    if value != int(value):
        raise ValueError(f"{_shown(value)} is not a whole number")
    return int(value)


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _shown(value: Any) -> str:
    """A value as a message shows it: short, and never a key that was pasted into the wrong place."""
    text = repr(value)
    if "PRIVATE KEY" in text:
        return "a private key"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not _is_finite(value):
        raise ValueError(f"{_shown(value)} is not a number")
    return float(value)


def _known_or_later(value: Any) -> Any:
    if isinstance(value, pulumi.Output) or (isinstance(value, str) and value):
        return value
    raise ValueError(f"{_shown(value)} is not an id")


WholeNumber = Annotated[int, BeforeValidator(_whole_number)]
Number = Annotated[float, BeforeValidator(_number)]
Text = StrictStr
Switch = StrictBool
Identifier = Annotated[Any, BeforeValidator(_known_or_later)]
"""An id of something that exists: text, or an output of another resource (known after deployment)."""

_SHOWN = 80
"""Characters of a wrong value that a message shows."""

Model = TypeVar("Model", bound=BaseModel)

_KINDS = {
    dict: "a map",
    list: "a list",
    str: "text",
    bool: "true or false",
    int: "a number",
    float: "a number",
}


def _kind(value: Any) -> str:
    if value is None:
        return "nothing"
    return next((name for kind, name in _KINDS.items() if type(value) is kind), type(value).__name__)


def _known_keys(model: type[BaseModel], spelling: Spelling) -> list[str]:
    convert = to_camel if spelling is Spelling.CAMEL else (lambda name: name)
    return [convert(name) for name in model.model_fields]


def _model_at(model: type[BaseModel], location: Path, given: Any) -> type[BaseModel] | None:
    """The model of the map at `location`, followed through optional and tagged fields."""
    current: Any = model
    for part in location:
        if not (isinstance(current, type) and issubclass(current, BaseModel)):
            return None
        field = current.model_fields.get(to_snake(str(part)))
        if field is None:
            return None
        candidates = _models(field.annotation)
        given = given.get(part) if isinstance(given, Mapping) else None
        tag = given.get("kind") if isinstance(given, Mapping) else None
        tagged = [one for one in candidates if _tag(one) == tag]
        current = (tagged or candidates or [None])[0]
    return current


def leaf_types(annotation: Any) -> list[type]:
    """The classes in an annotation, through unions, optionals and tuples."""
    if isinstance(annotation, type):
        return [annotation]
    return [inner for argument in get_args(annotation) for inner in leaf_types(argument)]


def _models(annotation: Any) -> list[type[BaseModel]]:
    return [one for one in leaf_types(annotation) if issubclass(one, BaseModel)]


def _tag(model: type[BaseModel]) -> str | None:
    field = model.model_fields.get("kind")
    values = get_args(field.annotation) if field else ()
    return values[0] if values else None


def _field(model: type[BaseModel], location: Path, given: Any) -> FieldInfo | None:
    if not location:
        return None
    parent = _model_at(model, location[:-1], given)
    return parent.model_fields.get(to_snake(str(location[-1]))) if parent else None


def _description(model: type[BaseModel], location: Path, given: Any) -> str | None:
    field = _field(model, location, given)
    # A field with an example has a description that reads as an answer ("the number of nodes").
    return field.description if field and field.examples else None


def _like_the_default(model: type[BaseModel], location: Path, given: Any) -> str:
    """What to give for a key that no description reads as an answer to: for a number its default, for an id its use."""
    field = _field(model, tuple(part for part in location if isinstance(part, str)), given)
    default = field.default if field is not None else None
    if isinstance(default, int | float) and not isinstance(default, bool):
        return f"a number in digits, such as {default:g}" if default < 10**6 else "a number in digits"
    if field is not None and {int, float} & set(leaf_types(field.annotation)):
        return "a number in digits"
    return "another, or drop the key"


def _remedy_for_choice(expected: str) -> str:
    return f"give one of {expected}"


def _problem(error: Mapping[str, Any], model: type[BaseModel], given: Any, spelling: Spelling) -> Problem:
    location = tuple(error["loc"])
    value, kind, context = error.get("input"), error["type"], error.get("ctx", {})
    if isinstance(value, pulumi.Output) and kind != "extra_forbidden":
        return Problem(
            location,
            "is an output, which nobody knows before a deployment, and the plan is checked before",
            "give the value itself",
        )
    match kind:
        case "extra_forbidden":
            here = _model_at(model, location[:-1], given)
            known = _known_keys(here, spelling) if here else []
            near = get_close_matches(str(location[-1]), known, n=1, cutoff=0.6)
            hint = f"did you mean `{near[0]}`? " if near else ""
            return Problem(
                location, "is not a key that is known here", f"{hint}known keys: {', '.join(known)}"
            )
        case "missing":
            return Problem(
                location, "is missing", f"give {_description(model, location, given) or 'a value'}"
            )
        case "model_type" | "model_attributes_type" | "dict_type" | "mapping_type":
            return Problem(location, f"{_kind(value)} stands where a map belongs", "write `key: value` lines")
        case "list_type" | "tuple_type":
            return Problem(location, f"{_kind(value)} stands where a list belongs", "write `- item` lines")
        case "string_type":
            return Problem(location, f"{_shown(value)} is {_kind(value)}, not text", "put it in quotes")
        case "bool_type":
            return Problem(location, f"{_shown(value)} is {_kind(value)}", "write true or false")
        case "enum" | "literal_error":
            return Problem(
                location, f"{_shown(value)} is not a choice", _remedy_for_choice(str(context["expected"]))
            )
        case "union_tag_not_found":
            field = _field(model, location, given)
            tags = [repr(_tag(one)) for one in _models(field.annotation) if _tag(one)] if field else []
            return Problem((*location, "kind"), "is missing", f"give the `kind`, one of {', '.join(tags)}")
        case "union_tag_invalid":
            return Problem(
                (*location, "kind"),
                f"{_shown(context['tag'])} is not a choice",
                _remedy_for_choice(context["expected_tags"]),
            )
        case "greater_than_equal":
            return Problem(location, f"{_shown(value)} is too small", f"give at least {context['ge']}")
        case "greater_than":
            return Problem(location, f"{_shown(value)} is too small", f"give more than {context['gt']}")
        case "less_than_equal":
            return Problem(location, f"{_shown(value)} is too large", f"give at most {context['le']}")
        case "value_error":
            text = str(context["error"])
            what, _, remedy = text.partition("; " if "; " in text else ": ")
            about = _description(model, location, given) or _like_the_default(model, location, given)
            return Problem(location, what, remedy or f"give {about}")
    return Problem(location, error["msg"], "mend the value")


def _readable_location(location: tuple[Any, ...], model: type[BaseModel], given: Any) -> tuple[Any, ...]:
    """Without the tags that pydantic puts into the path of a tagged union (`capacity.spot.maxPrice`)."""
    kept: list[Any] = []
    here: Any = given
    for part in location:
        if isinstance(here, Mapping) and part not in here and here.get("kind") == part:
            continue
        kept.append(part)
        if isinstance(here, Mapping):
            here = here.get(part)
        elif isinstance(here, list | tuple) and isinstance(part, int) and part < len(here):
            here = here[part]
        else:
            here = None
    return tuple(kept)


def _without(given: Any, location: Path) -> Any:
    """A copy of `given` without the value at `location`."""
    if not location:
        return {}
    first, *rest = location
    if isinstance(given, Mapping):
        if first not in given:
            return given
        if not rest:
            return {key: value for key, value in given.items() if key != first}
        return {**given, first: _without(given[first], tuple(rest))}
    if isinstance(given, list | tuple) and isinstance(first, int) and first < len(given):
        items = list(given)
        if rest:
            items[first] = _without(items[first], tuple(rest))
        else:
            del items[first]
        return items
    return given


def _example(model: type[BaseModel], location: Path, given: Any) -> Any:
    field = _field(model, location, given)
    return field.examples[0] if field is not None and field.examples else None


def _with(given: Any, location: Path, value: Any) -> Any:
    first, *rest = location
    base = dict(given) if isinstance(given, Mapping) else {}
    base[first] = _with(base.get(first), tuple(rest), value) if rest else value
    return base


def read(
    model: type[Model],
    given: Any,
    *,
    path: Path = (),
    spelling: Spelling = Spelling.CAMEL,
    checks: Callable[[Model], list[Problem]] | None = None,
) -> tuple[Model | None, list[Problem]]:
    """`given` as a `model`, and every problem: of its shape, and of `checks` on what can be read.

    Where a value cannot be read, its problem is kept and an example of the field stands in for it, so that the
    rest is still checked; what `checks` says about a stand-in is not reported.
    """
    if given is None:
        given = {}
    if spelling is Spelling.SNAKE:
        given = _in_camel_case(model, given)
    adapter = TypeAdapter(model)
    problems: list[Problem] = []
    stand_ins: list[Path] = []
    current, instance = given, None
    for _ in range(20):
        try:
            instance = adapter.validate_python(current)
            break
        except ValidationError as invalid:
            before = current
            for error in invalid.errors(include_url=False):
                location = _readable_location(error["loc"], model, current)
                found = _problem({**error, "loc": location}, model, current, spelling)
                if not any(found.path[: len(place)] == place for place in stand_ins):
                    problems.append(found)
                stand_ins.append(location)
                current = _without(current, location)
                example = _example(model, location, current) if location else None
                if example is not None:
                    current = _with(current, location, example)
            if current == before:
                break
    named = _names(model)
    found_by_checks = checks(instance) if instance is not None and checks is not None else []
    for found in found_by_checks:
        place = _spelled(found.path, named, Spelling.CAMEL)
        if not any(place[: len(stand_in)] == stand_in for stand_in in stand_ins):
            problems.append(Problem(place, found.what, found.remedy))
    if spelling is Spelling.SNAKE:
        problems = [
            Problem(_spelled(found.path, named, spelling), found.what, found.remedy) for found in problems
        ]
    rendered = [Problem((*path, *found.path), found.what, found.remedy) for found in problems]
    return (instance if not problems else None), rendered


def _names(model: type[BaseModel]) -> frozenset[str]:
    """The keys of `model` and of all models below it, in snake_case."""
    below = {one for field in model.model_fields.values() for one in _models(field.annotation)}
    return frozenset(model.model_fields).union(*map(_names, below))


def _spelled(path: Path, named: frozenset[str], spelling: Spelling) -> Path:
    """`path` with our keys in `spelling`; a user's own key, such as a tag, keeps its own."""
    convert = to_camel if spelling is Spelling.CAMEL else to_snake
    return tuple(
        convert(part) if isinstance(part, str) and to_snake(part) in named else part for part in path
    )


def _in_camel_case(model: type[BaseModel] | None, given: Any) -> Any:
    """`given` with the keys that `model` knows in camelCase, all the way down; a user's own keys as they are."""
    if not isinstance(given, Mapping) or model is None:
        return given
    known = model.model_fields
    converted: dict[Any, Any] = {}
    for key, value in given.items():
        name = to_camel(key) if to_snake(str(key)) in known else key
        inner = _model_at(model, (name,), {name: value})
        if isinstance(value, list | tuple):
            converted[name] = [_in_camel_case(inner, item) for item in value]
        else:
            converted[name] = _in_camel_case(inner, value)
    return converted
