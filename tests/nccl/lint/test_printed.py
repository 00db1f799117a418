"""What a script appends to other files with `echo`, `printf` and here-documents."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_fabric.nccl.lint.sources import read_source
from gpu_fabric.nccl.lint.sources.printed import COMPUTED, printed, unquoted


def sets(line: str) -> list[tuple[str, str | None]]:
    found = read_source("boot.sh", f"#!/bin/bash\n{line}\n").assignments
    assert {one.exported for one in found} <= {True}
    return [(one.name, one.value) for one in found]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (r"printf 'NCCL_DEBUG=WARN\n' >> /etc/nccl.conf", [("NCCL_DEBUG", "WARN")]),
        (r'printf "NCCL_DEBUG=WARN\n" >> /etc/nccl.conf', [("NCCL_DEBUG", "WARN")]),
        (
            r"printf 'NCCL_CROSS_NIC=1\nNCCL_DEBUG=WARN\n' > /etc/nccl.conf",
            [("NCCL_CROSS_NIC", "1"), ("NCCL_DEBUG", "WARN")],
        ),
        (
            r"printf '%s\n' NCCL_CROSS_NIC=1 'NCCL_DEBUG=WARN' > /etc/nccl.conf",
            [("NCCL_CROSS_NIC", "1"), ("NCCL_DEBUG", "WARN")],
        ),
        (r"printf '%s=%s\n' NCCL_DEBUG WARN > /etc/nccl.conf", [("NCCL_DEBUG", "WARN")]),
        (r'printf "NCCL_SOCKET_IFNAME=%s\n" "$card" > /etc/nccl.conf', [("NCCL_SOCKET_IFNAME", None)]),
        (r'echo -e "A=1\nNCCL_DEBUG=WARN" >> /etc/nccl.conf', [("NCCL_DEBUG", "WARN")]),
        (r"echo 'NCCL_DEBUG=WARN\n' >> /etc/nccl.conf", [("NCCL_DEBUG", r"WARN\n")]),
        ("echo NCCL_DEBUG=WARN | sudo tee -a /etc/environment", [("NCCL_DEBUG", "WARN")]),
        ("echo 'export NCCL_DEBUG=WARN' >> ~/.bashrc", [("NCCL_DEBUG", "WARN")]),
        ("sudo sh -c 'echo NCCL_DEBUG=WARN >> /etc/environment'", [("NCCL_DEBUG", "WARN")]),
        ("cat <<EOF | sudo tee -a /etc/environment\nNCCL_DEBUG=WARN\nEOF", [("NCCL_DEBUG", "WARN")]),
        ("cat >> /etc/profile.d/nccl.sh <<EOF\nexport NCCL_DEBUG=WARN\nEOF", [("NCCL_DEBUG", "WARN")]),
        ("echo NCCL_DEBUG=WARN > /tmp/notes", []),
        ("echo NCCL_DEBUG=WARN", []),
    ],
)
def test_what_is_written_to_a_file_of_settings_is_read_as_that_file(
    line: str, expected: list[tuple[str, str | None]]
) -> None:
    assert sets(line) == expected


@pytest.mark.parametrize(
    ("word", "text"),
    [
        (r"'a\n$b'", r"a\n$b"),
        (r'"a\"b\n"', r'a"b\n'),
        (r"a\ b", "a b"),
        ('"$x-${y}-$(z)"', f"{COMPUTED}-{COMPUTED}-{COMPUTED}"),
        ("'it'\"'\"'s'", "it's"),
    ],
)
def test_a_word_loses_its_quotes_as_the_shell_takes_them(word: str, text: str) -> None:
    assert unquoted(word) == text


@given(st.lists(st.text(max_size=20), max_size=5), st.sampled_from(["echo", "printf"]))
def test_no_words_are_too_odd_to_be_printed(words: list[str], head: str) -> None:
    assert isinstance(printed([head, *words]), str)
