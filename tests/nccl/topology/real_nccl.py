"""NCCL's own reader of topology files, called in the library itself. Needs the library, and no GPU.

`ncclTopoGetXmlFromFile` and `ncclTopoGetSystemFromXml` are not exported, but NVIDIA's wheels keep the symbol table:
the functions are called at the addresses it gives. Run as a program it reads a list of files and prints what each
of the two functions returns, one line of JSON a file; a crash of NCCL ends that process alone.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import json
import mmap
import os
import struct
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

#: Where a library is looked for first.
VARIABLE = "NCCL_LIBRARY_FOR_TESTS"
FROM_FILE = "_Z22ncclTopoGetXmlFromFilePKcP7ncclXmli"
TO_SYSTEM = "_Z24ncclTopoGetSystemFromXmlP7ncclXmlPP14ncclTopoSystemm"
#: `struct ncclXmlNode` and `struct ncclXml` of src/graph/xml.h: 16 attributes and one spare, 640 children.
STRING = 256
NODE_SIZE = STRING + 17 * 2 * STRING + 2 * 4 + 8 + 640 * 8 + 8
MAX_NODES = 256


class Verdict(NamedTuple):
    """Result codes of reading the file and of building the graph: 0 success, 3 internal error, 5 invalid usage."""

    read: int | None
    """None: the process ended."""
    built: int | None
    """None: not tried, because the file was not read."""
    elements: int = 0
    """How many elements NCCL kept."""


def find_library() -> Path | None:
    """The NCCL library of this machine: the variable's, a wheel's, the system's."""
    named = os.environ.get(VARIABLE)
    if named:
        return Path(named)
    spec = find_spec("nvidia")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        library = Path(folder) / "nccl/lib/libnccl.so.2"
        if library.exists():
            return library
    found = ctypes.util.find_library("nccl")
    return Path(found) if found else None


def addresses(library: Path, names: Sequence[str]) -> dict[str, int]:
    """Offset of each symbol that the library's symbol table has (ELF64, `.symtab`)."""
    with library.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        section_offset = struct.unpack_from("<Q", data, 0x28)[0]
        size, count = struct.unpack_from("<HH", data, 0x3A)
        sections = [
            struct.unpack_from("<IIQQQQIIQQ", data, section_offset + at * size) for at in range(count)
        ]
        found: dict[str, int] = {}
        for kind, offset, length, link in ((s[1], s[4], s[5], s[6]) for s in sections):
            if kind != 2:  # SHT_SYMTAB
                continue
            strings, strings_length = sections[link][4], sections[link][5]
            wanted = {}
            for name in names:
                at = data.find(b"\0" + name.encode() + b"\0", strings, strings + strings_length)
                if at >= 0:
                    wanted[at + 1 - strings] = name
            for name_at, value in struct.iter_unpack("<I4xQ8x", data[offset : offset + length]):
                if name_at in wanted and value:
                    found[wanted[name_at]] = value
        return found


def version(library: Path) -> str:
    """The library's version, such as 2.30.7."""
    code = (
        "import ctypes, sys; v = ctypes.c_int(); ctypes.CDLL(sys.argv[1]).ncclGetVersion(ctypes.byref(v));"
        "print(v.value)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(library)], capture_output=True, text=True, check=True
    )
    number = int(done.stdout)
    return f"{number // 10000}.{number // 100 % 100}.{number % 100}"


def verdicts(library: Path, texts: Sequence[str], folder: Path) -> list[Verdict]:
    """What NCCL makes of each text, read alone. `folder` takes the files."""
    paths = []
    for number, text in enumerate(texts):
        path = folder / f"{number}.xml"
        path.write_bytes(text.encode("utf-8", errors="surrogatepass"))
        paths.append(str(path))
    found: list[Verdict] = []
    while len(found) < len(paths):
        rest = paths[len(found) :]
        done = subprocess.run(
            [sys.executable, __file__, str(library)],
            input="\n".join(rest),
            capture_output=True,
            text=True,
            timeout=300,
            env={**os.environ, "NCCL_DEBUG": "NONE"},
            check=False,
        )
        lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]
        found.extend(Verdict(*line) for line in lines)
        if len(lines) < len(rest):
            if done.returncode >= 0:
                raise RuntimeError(f"no verdict on {rest[len(lines)]}: {done.stderr[-2000:]}")
            found.append(Verdict(None, None))
    return found


def main(library: Path) -> None:
    """Read paths from standard input; one line of JSON for each."""
    at = addresses(library, (FROM_FILE, TO_SYSTEM))
    # Kept in a name: the library must stay loaded while its functions are called.
    nccl = ctypes.CDLL(str(library))
    base = _loaded_at(library)
    pointer = ctypes.POINTER(ctypes.c_char)
    read = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, pointer, ctypes.c_int)(base + at[FROM_FILE])
    build = ctypes.CFUNCTYPE(ctypes.c_int, pointer, ctypes.POINTER(ctypes.c_void_p), ctypes.c_uint64)(
        base + at[TO_SYSTEM]
    )
    for line in sys.stdin.read().splitlines():
        memory = ctypes.create_string_buffer(8 + NODE_SIZE * (MAX_NODES + 1))
        struct.pack_into("<ii", memory, 0, 0, MAX_NODES)
        result = read(line.encode(), memory, 1)
        elements = struct.unpack_from("<i", memory, 0)[0]
        system = ctypes.c_void_p()
        built = build(memory, ctypes.byref(system), 0) if result == 0 and elements else None
        print(json.dumps([result, built, elements]), flush=True)
    del nccl


def _loaded_at(library: Path) -> int:
    """Address of the library's first byte in this process."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        if line.endswith(str(library.resolve())):
            return int(line.partition("-")[0], 16)
    raise RuntimeError(f"{library} is not loaded")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
