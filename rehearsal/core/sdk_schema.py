"""Reads property names and types out of a vendor's generated Pulumi SDK.

The vendors' Python packages carry no schema file, but their generated classes say the same: ``VpcArgs`` has the
inputs, ``Vpc`` the outputs, ``_inputs.py`` the nested objects. The source is parsed, not imported: importing it
takes a second and tens of megabytes.

The result is a plain dictionary, kept as ``schema.json`` beside each simulated cloud::

    {"package": "aws", "version": "7.51.1", "config": {...},
     "types": {"aws:ec2/vpc:Vpc": {"inputs": {"cidrBlock": "string"}, "outputs": {"arn": "string!"}}},
     "objects": {"ec2/InstanceEbsBlockDeviceArgs": {"deviceName": "string!"}},
     "functions": {"aws:ec2/getVpc:getVpc": {"inputs": ["id"], "outputs": ["arn"]}}}

A type is ``string``, ``integer``, ``number``, ``boolean``, ``any``, ``[item]``, ``{value}`` or ``@object``; ``!``
behind it means required (inputs) or always there (outputs).
"""

from __future__ import annotations

import ast
import importlib.metadata
import importlib.util
import json
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

_SCALARS = {"str": "string", "int": "integer", "float": "number", "bool": "boolean", "Any": "any"}


def extract(package: str, types: Iterable[str], functions: Iterable[str]) -> dict[str, Any]:
    """The schema of the given resource and function tokens in an installed SDK.

    ``package`` is the Pulumi package's name, ``azure-native`` for instance. Raises ``LookupError`` naming the
    tokens that the SDK does not have.
    """
    root = package_folder(package)
    schema: dict[str, Any] = {
        "package": package,
        "version": plugin_version(package),
        "config": {},
        "types": {},
        "objects": {},
        "functions": {},
    }
    wanted: list[str] = []
    provider = _classes(root / "provider.py")
    schema["config"] = _properties(provider["ProviderArgs"], "", wanted)
    missing = []
    for token in sorted(set(types)):
        file = _file_of(root, token)
        if file is None:
            missing.append(token)
            continue
        schema["types"][token] = _resource(file, token, _module(token), wanted)
    for token in sorted(set(functions)):
        found = _function(root, token)
        if found is None:
            missing.append(token)
            continue
        schema["functions"][token] = found
    if missing:
        raise LookupError(f"the SDK of {package} has no {', '.join(missing)}")
    while wanted:
        name = wanted.pop()
        if name in schema["objects"]:
            continue
        module, _, short = name.rpartition("/")
        schema["objects"][name] = _properties(_classes(root / module / "_inputs.py")[short], module, wanted)
    schema["objects"] = dict(sorted(schema["objects"].items()))
    return schema


def package_folder(package: str) -> Path:
    """Where the SDK of a Pulumi package is installed."""
    name = f"pulumi_{package.replace('-', '_')}"
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise LookupError(f"the Python package {name} is not installed")
    return Path(next(iter(spec.submodule_search_locations)))


def plugin_version(package: str) -> str:
    """The version the engine will ask for: the one in the SDK's ``pulumi-plugin.json``.

    A package without that file answers with its own distribution's version.
    """
    path = package_folder(package) / "pulumi-plugin.json"
    if path.exists():
        return json.loads(path.read_text())["version"]
    return importlib.metadata.version(f"pulumi-{package}")


def _module(token: str) -> str:
    """``ec2`` of ``aws:ec2/vpc:Vpc`` and of ``azure-native:network:Subnet``; empty for the package's own."""
    module = token.split(":")[1].partition("/")[0]
    return "" if module == "index" else module


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@cache
def _classes(path: Path) -> dict[str, ast.ClassDef]:
    return {node.name: node for node in _tree(path).body if isinstance(node, ast.ClassDef)}


def _file_of(root: Path, token: str) -> Path | None:
    quoted = f'type_token("{token}")'
    for path in sorted((root / _module(token)).glob("*.py")):
        if quoted in path.read_text():
            return path
    return None


def _resource(file: Path, token: str, module: str, wanted: list[str]) -> dict[str, Any]:
    classes = _classes(file)
    resource = next(each for each in classes.values() if _has_token(each, token))
    arguments = next(
        (classes[name] for name in (f"{resource.name}Args", f"{resource.name}InitArgs") if name in classes),
        None,
    )
    inputs = _properties(arguments, module, wanted) if arguments else {}
    outputs = _properties(resource, module, [])
    return {"inputs": inputs, "outputs": outputs}


def _has_token(node: ast.ClassDef, token: str) -> bool:
    return any(
        isinstance(each, ast.Call)
        and each.args
        and isinstance(each.args[0], ast.Constant)
        and each.args[0].value == token
        for each in node.decorator_list
    )


def _properties(node: ast.ClassDef, module: str, wanted: list[str]) -> dict[str, str]:
    return dict(
        sorted((name, _spec(annotation, module, wanted)) for name, annotation in _getters(node) if annotation)
    )


def _getters(node: ast.ClassDef) -> Iterator[tuple[str, ast.expr | None]]:
    """The (name on the wire, annotation) of every property of a generated class."""
    for each in node.body:
        if not isinstance(each, ast.FunctionDef):
            continue
        for decorator in each.decorator_list:
            called = decorator.func if isinstance(decorator, ast.Call) else decorator
            if not (isinstance(called, ast.Attribute) and called.attr == "getter"):
                continue
            name = each.name
            if isinstance(decorator, ast.Call):
                name = next(
                    (word.value.value for word in decorator.keywords if isinstance(word.value, ast.Constant)),
                    name,
                )
            yield str(name), each.returns


def _spec(node: ast.expr, module: str, wanted: list[str]) -> str:
    """The type as a word; the required mark is added where no Optional was met on the way in."""
    optional = False
    while isinstance(node, ast.Subscript) and _name(node.value) in ("Input", "Output", "Optional", "Union"):
        if _name(node.value) == "Union":
            # A union of a text and an enumeration, or of an id and a resource: the wire has the text.
            node = node.slice.elts[0] if isinstance(node.slice, ast.Tuple) else node.slice
            continue
        optional |= _name(node.value) == "Optional"
        node = node.slice
    return _type(node, module, wanted) + ("" if optional else "!")


def _type(node: ast.expr, module: str, wanted: list[str]) -> str:
    if isinstance(node, ast.Subscript):
        outer = _name(node.value)
        if outer == "Sequence":
            return f"[{_spec(node.slice, module, wanted).rstrip('!')}]"
        if outer in ("Mapping", "Dict"):
            inner = node.slice.elts[1] if isinstance(node.slice, ast.Tuple) else node.slice
            return f"{{{_spec(inner, module, wanted).rstrip('!')}}}"
        return _spec(node, module, wanted).rstrip("!")
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        prefix, _, short = node.value.rpartition(".")
        if not short.endswith("Args"):
            return "any" if prefix else "string"
        owner = prefix.removeprefix("_").partition(".")[0] or module
        name = f"{owner}/{short}" if owner else f"/{short}"
        wanted.append(name)
        return f"@{name}"
    return _SCALARS.get(_name(node), "any")


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _function(root: Path, token: str) -> dict[str, list[str]] | None:
    quoted = f"invoke('{token}'"
    for path in sorted((root / _module(token)).glob("get_*.py")):
        text = path.read_text()
        if quoted not in text:
            continue
        function = next(
            node
            for node in _tree(path).body
            if isinstance(node, ast.FunctionDef) and quoted in (ast.get_source_segment(text, node) or "")
        )
        result = next(node for name, node in _classes(path).items() if not name.startswith("Awaitable"))
        return {
            "inputs": sorted(_argument_names(function)),
            "outputs": sorted(name for name, _ in _getters(result)),
        }
    return None


def _argument_names(function: ast.FunctionDef) -> Iterator[str]:
    for node in ast.walk(function):
        if (
            isinstance(node, ast.Assign)
            and isinstance(target := node.targets[0], ast.Subscript)
            and _name(target.value) == "__args__"
            and isinstance(target.slice, ast.Constant)
        ):
            yield str(target.slice.value)
