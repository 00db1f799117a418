"""Lists of nodes: what launchers write is read, and everything else is refused in words."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_fabric.nccl.launch import read_nodes
from gpu_fabric.nccl.preflight.nodelist import NodeListError, expand, nodes_of


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("n[1-3]", ["n1", "n2", "n3"]),
        ("n[08-10,15],m1", ["n08", "n09", "n10", "n15", "m1"]),
        ("n[098-101]", ["n098", "n099", "n100", "n101"]),
        ("a1-[1-2]-x", ["a1-1-x", "a1-2-x"]),
        ("10.0.0.1,10.0.0.2", ["10.0.0.1", "10.0.0.2"]),
        ("rack[1-2]-n[01-02]", ["rack1-n01", "rack1-n02", "rack2-n01", "rack2-n02"]),
        ("r[1]c[1-2]n[1,3],x", ["r1c1n1", "r1c1n3", "r1c2n1", "r1c2n3", "x"]),
        ("fe80::1%eth0", ["fe80::1%eth0"]),
        ("", []),
        (",", []),
    ],
)
def test_slurms_lists_of_nodes_are_written_out(text: str, names: list[str]) -> None:
    assert expand(text) == names


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("n[1-x]", "'n[1-x]': '1-x' is no number and no range such as 1-4"),
        ("n[1-4", "'n[1-4': a bracket is not closed"),
        ("n1-4]", "'n1-4]': a bracket is not closed"),
        ("n[[1]]", "'n[[1]]': a bracket is not closed"),
        ("n[]", "'n[]': '' is no number and no range such as 1-4"),
        ("n[5-1]", "'n[5-1]': the range 5-1 runs backwards"),
        ("n[1-²]", "'n[1-²]': '1-²' is no number and no range such as 1-4"),
        ("n[1-999999999]", "'n[1-999999999]': more than 100,000 nodes"),
        ("n[1-9999]m[1-9999]", "'n[1-9999]m[1-9999]': more than 100,000 nodes"),
        ("n1,$(id)", "'$(id)' is no name of a node"),
        ("a;b", "'a;b' is no name of a node"),
        ('"q"', "'\"q\"' is no name of a node"),
        ("-x", "'-x' is no name of a node"),
        ("\0", "'\\x00' is no name of a node"),
    ],
)
def test_what_is_no_list_is_refused_with_the_part_that_is_wrong(text: str, says: str) -> None:
    with pytest.raises(NodeListError, match=f"^{re.escape(says)}$"):
        expand(text)


def test_hostfiles_of_each_kind_give_their_nodes_once() -> None:
    text = "# cluster\n10.0.0.1 slots=8\n10.0.0.2 slots=8 max_slots=8 # spare\n\n10.0.0.1 slots=8\n"
    assert nodes_of(text) == ["10.0.0.1", "10.0.0.2"]
    assert nodes_of("n[1-2]\n") == ["n1", "n2"]
    assert nodes_of("n1:8\nn2:8\nfe80::1\n") == ["n1", "n2", "fe80::1"], "MPICH's and mpirun's own slots"
    assert nodes_of("\ufeffn1\r\nn2\r\n") == ["n1", "n2"]
    assert nodes_of("") == []


def test_every_line_that_is_wrong_is_named() -> None:
    with pytest.raises(NodeListError) as refused:
        nodes_of("n1\nn2 n3\nn[\n")
    assert str(refused.value) == (
        "line 2: 'n2 n3': one name a line, or several with commas between; line 3: 'n[': a bracket is not closed"
    )


@settings(max_examples=400, deadline=None)
@given(st.one_of(st.text(max_size=40), st.text("n[]0123456789-,.:= #\n\"'$²", max_size=40)))
def test_any_text_is_a_list_or_is_refused_and_a_name_is_always_one_word_that_no_shell_reads(
    text: str,
) -> None:
    for read in (nodes_of, expand, read_nodes):
        try:
            found = read(text)
        except NodeListError as refused:
            assert str(refused)
            continue
        names = [name if isinstance(name, str) else name.address for name in found]
        assert all(re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.:%-]*", name) for name in names)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.integers(0, 900), st.integers(0, 40)), min_size=1, max_size=4
    ),
    st.booleans(),
)
def test_what_is_written_with_ranges_is_what_is_written_out(
    ranges: list[tuple[str, int, int]], padded: bool
) -> None:
    width = 4 if padded else 1
    short = ",".join(f"{name}[{low:0{width}d}-{low + more}]" for name, low, more in ranges)
    assert expand(short) == [
        f"{name}{number:0{width if padded else len(str(low))}d}"
        for name, low, more in ranges
        for number in range(low, low + more + 1)
    ]
