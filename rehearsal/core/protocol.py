"""Pulumi's protocol (messages and gRPC stubs), without the rest of Pulumi's SDK.

`import pulumi.runtime.proto` runs `pulumi/__init__` first, which costs more than all of a simulated cloud: about 0.15 s
of CPU for each plugin of each run. The folder stands by itself (its modules import one another relatively), so it is
loaded under a name of its own. Where the SDK is imported too, both have the same message classes: protobuf keeps one
for each message of a file.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

NAME = "_pulumi_protocol"


def _load() -> ModuleType:
    sdk = find_spec("pulumi")
    if sdk is None or sdk.origin is None:
        raise ModuleNotFoundError("the simulated clouds need the package pulumi", name="pulumi")
    folder = Path(sdk.origin).parent / "runtime" / "proto"
    spec = spec_from_file_location(NAME, folder / "__init__.py", submodule_search_locations=[str(folder)])
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[NAME] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_PROTOCOL = sys.modules.get(NAME) or _load()


def __getattr__(name: str) -> ModuleType:
    """A module of the protocol by its name, such as `provider_pb2`."""
    try:
        return getattr(_PROTOCOL, name)
    except AttributeError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
