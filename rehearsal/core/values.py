"""Property values between the engine and plain Python.

The engine sends properties as a protobuf Struct in which some dictionaries and strings have a special meaning
(pulumi/pulumi sdk/go/common/resource/properties.go, v3.274.1): a secret is a tagged dictionary, an unknown value
a fixed string. Inside the simulated clouds a secret is a :class:`Secret` and an unknown value :data:`UNKNOWN`, so
that neither can be taken for an ordinary value; both are turned back on the way out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from google.protobuf import empty_pb2, struct_pb2

# The generated modules have no type stubs.
Struct: Any = struct_pb2.Struct  # ty: ignore[missing-attribute]
Empty: Any = empty_pb2.Empty  # ty: ignore[missing-attribute]
SIGNATURE: Final = "4dabf18193072939515e22adb298388d"
SECRET: Final = "1b47061264138c4ac30d75fd1eb44270"
OUTPUT_VALUE: Final = "d0e6a833031e9bbcd3f4e8bde6ca49a4"
RESOURCE_REFERENCE: Final = "5cf8f73096256a8f31e491e813e4eb8e"

_UNKNOWN_STRING: Final = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
_UNKNOWN_STRINGS: Final = frozenset(
    {
        _UNKNOWN_STRING,
        "1c4a061d-8072-4f0a-a4cb-0ff528b18fe7",  # boolean
        "3eeb2bf0-c639-47a8-9e75-3b44932eb421",  # number
        "6a19a0b0-7e62-4c92-b797-7f8e31da9cc2",  # array
        "030794c1-ac77-496b-92df-f27374a8bd58",  # asset
        "e48ece36-62e2-4504-bad9-02848725956a",  # archive
        "dd056dcd-154b-4c76-9bd3-c8f88648b5ff",  # object
    }
)


class Unknown:
    """A value that only exists after the resource it comes from has been made. There is one: UNKNOWN."""

    _only: Unknown | None = None

    def __new__(cls) -> Unknown:
        if cls._only is None:
            cls._only = super().__new__(cls)
        return cls._only

    def __repr__(self) -> str:
        return "UNKNOWN"

    def __deepcopy__(self, memo: object) -> Unknown:
        return self

    def __bool__(self) -> bool:
        raise TypeError("an unknown value is neither true nor false: ask is_unknown() first")


UNKNOWN: Final = Unknown()


@dataclass(frozen=True)
class Secret:
    """A value the engine must keep encrypted. Its text never shows in a representation."""

    value: Any

    def __repr__(self) -> str:
        return "Secret(…)"


def is_unknown(value: Any) -> bool:
    """Whether the value itself is unknown; a known list may still hold unknown items."""
    return value is UNKNOWN


def has_unknown(value: Any) -> bool:
    """Whether the value, or anything inside it, is unknown."""
    if isinstance(value, Secret):
        return has_unknown(value.value)
    if isinstance(value, Mapping):
        return any(has_unknown(item) for item in value.values())
    if isinstance(value, list):
        return any(has_unknown(item) for item in value)
    return value is UNKNOWN


def from_struct(struct: Any) -> dict[str, Any]:
    """The Struct's properties, with :class:`Secret` and :data:`UNKNOWN` in place of their encodings."""
    return {key: _decode(value) for key, value in struct.fields.items()}


def to_struct(properties: Mapping[str, Any]) -> Any:
    """The reverse of :func:`from_struct`. Properties that are None are left out, as the vendors' providers do."""
    struct = Struct()
    for key, value in properties.items():
        if value is not None:
            _encode(value, struct.fields[key])
    return struct


def _decode(value: Any) -> Any:
    kind = value.WhichOneof("kind")
    if kind == "string_value":
        return UNKNOWN if value.string_value in _UNKNOWN_STRINGS else value.string_value
    if kind == "number_value":
        number = value.number_value
        return int(number) if number.is_integer() else number
    if kind == "bool_value":
        return value.bool_value
    if kind == "list_value":
        return [_decode(item) for item in value.list_value.values]
    if kind == "struct_value":
        fields = value.struct_value.fields
        signature = fields[SIGNATURE].string_value if SIGNATURE in fields else ""
        if signature == SECRET:
            return Secret(_decode(fields["value"]))
        if signature == OUTPUT_VALUE:
            inner = _decode(fields["value"]) if "value" in fields else UNKNOWN
            return Secret(inner) if "secret" in fields and fields["secret"].bool_value else inner
        if signature == RESOURCE_REFERENCE:
            return _decode(fields["id"]) if "id" in fields else fields["urn"].string_value
        return {key: _decode(item) for key, item in fields.items()}
    return None


def _encode(value: Any, into: Any) -> None:
    if value is UNKNOWN:
        into.string_value = _UNKNOWN_STRING
    elif isinstance(value, Secret):
        fields = into.struct_value.fields
        fields[SIGNATURE].string_value = SECRET
        _encode(value.value, fields["value"])
    elif value is None:
        into.null_value = 0
    elif isinstance(value, bool):
        into.bool_value = value
    elif isinstance(value, int | float):
        into.number_value = value
    elif isinstance(value, str):
        into.string_value = value
    elif isinstance(value, Mapping):
        into.struct_value.SetInParent()
        for key, item in value.items():
            _encode(item, into.struct_value.fields[key])
    elif isinstance(value, list | tuple):
        into.list_value.SetInParent()
        for item in value:
            _encode(item, into.list_value.values.add())
    else:
        raise TypeError(f"a {type(value).__name__} has no place in a resource's properties")


def plain(value: Any) -> Any:
    """The value without secret wrappers. Unknowns stay."""
    if isinstance(value, Secret):
        return plain(value.value)
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value


def known_part(value: Any) -> Any:
    """The value without its unknown parts: an unknown property is dropped from a dictionary, an item stays."""
    if isinstance(value, Mapping):
        return {key: known_part(item) for key, item in value.items() if item is not UNKNOWN}
    if isinstance(value, list):
        return [known_part(item) for item in value]
    return value


def keep_secret(outputs: Mapping[str, Any], inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Outputs in which every property that is secret in ``inputs``, wholly or in part, is secret as well."""
    return {key: _keep_secret(value, inputs.get(key)) for key, value in outputs.items()}


def _keep_secret(value: Any, model: Any) -> Any:
    if isinstance(value, Secret):
        return value
    if isinstance(model, Secret):
        return Secret(value)
    if isinstance(value, Mapping) and isinstance(model, Mapping):
        return {key: _keep_secret(item, model.get(key)) for key, item in value.items()}
    if isinstance(value, list) and isinstance(model, list):
        if len(value) == len(model):
            return [_keep_secret(item, other) for item, other in zip(value, model, strict=True)]
        return Secret(value) if has_secret(model) else value
    return value


def has_secret(value: Any) -> bool:
    """Whether the value, or anything inside it, is secret."""
    if isinstance(value, Mapping):
        return any(has_secret(item) for item in value.values())
    if isinstance(value, list):
        return any(has_secret(item) for item in value)
    return isinstance(value, Secret)


def without(value: Any, paths: frozenset[str], path: str = "") -> Any:
    """The value without what lies at the paths (``osProfile.customData``; lists count for nothing in a path)."""
    if not paths:
        return value
    if isinstance(value, Mapping):
        return {
            key: without(item, paths, where)
            for key, item in value.items()
            if (where := f"{path}.{key}" if path else key) not in paths
        }
    if isinstance(value, list):
        return [without(item, paths, path) for item in value]
    return value


def with_unknowns(value: Any, within: Mapping[str, frozenset[str]], path: str = "") -> Any:
    """The value with unknowns for the names that a path's objects lack; lists count for nothing in a path.

    A name with ``!`` behind it is unknown where it is given, because the answer has another shape.
    """
    if not within:
        return value
    if isinstance(value, Mapping):
        inner = {
            key: with_unknowns(item, within, f"{path}.{key}" if path else key) for key, item in value.items()
        }
        names = within.get(path, frozenset())
        lacking = dict.fromkeys((name for name in names if not name.endswith("!")), UNKNOWN)
        reshaped = dict.fromkeys((key for key in inner if f"{key}!" in names), UNKNOWN)
        return {**lacking, **inner, **reshaped}
    if isinstance(value, list):
        return [with_unknowns(item, within, path) for item in value]
    return value


def secret_names(properties: Mapping[str, Any]) -> list[str]:
    """The top-level properties that are secret, wholly or in part."""
    return sorted(key for key, value in properties.items() if has_secret(value))


def walk(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every leaf with its path, as in ``ingress[0].fromPort``."""
    if isinstance(value, Mapping) and value:
        for key, item in value.items():
            yield from walk(item, join(path, key))
    elif isinstance(value, list) and value:
        for index, item in enumerate(value):
            yield from walk(item, f"{path}[{index}]")
    else:
        yield path, value


def join(path: str, key: str) -> str:
    """The path of ``key`` below ``path``; a key that is not a plain name is quoted, as the engine does."""
    if key.replace("_", "").replace("-", "").isalnum():
        return f"{path}.{key}" if path else key
    return f'{path}["{key}"]'
