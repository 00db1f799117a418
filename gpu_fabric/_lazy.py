"""Names of a package that are loaded when they are first used.

Reading a stack file needs no cloud SDK, and a cluster on one cloud not the SDK of the other; each takes seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

#: What an extra of this package installs. Where `pulumi` itself is missing, the name that was asked for decides.
_EXTRAS = {
    "pulumi_aws": "aws",
    "pulumi_azure_native": "azure",
    "pulumi_tls": "azure",
    "pulumi_equinix": "equinix",
}


def lazily(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """A package's `__getattr__` for names that stand in `modules` with the module that defines them.

    The attribute raises ModuleNotFoundError with the extra to install where an SDK is missing.
    """

    def attribute(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = f"{package}.{modules[name]}"
        try:
            return getattr(import_module(module), name)
        except ModuleNotFoundError as missing:
            wanted = missing.name or ""
            if wanted not in {*_EXTRAS, "pulumi"}:
                raise
            message = f"{name} needs {wanted}: pip install 'gpu-fabric[{_extra(wanted, module)}]'"
            raise ModuleNotFoundError(message, name=wanted) from None

    return attribute


def _extra(missing: str, module: str) -> str:
    clouds = [cloud for cloud in ("aws", "azure") if f".{cloud}" in module]
    return _EXTRAS.get(missing) or ",".join(clouds or ("aws", "azure"))
