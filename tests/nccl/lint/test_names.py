"""Names: the 245 that are read, the removed, the deprecated, the later, the mistaken, and other programs' own."""

from __future__ import annotations

import pytest

from gpu_fabric.nccl.lint.grammar import variables
from gpu_fabric.nccl.lint.names import first_seen, known_names, lifecycle
from tests.nccl.lint.helpers import P5, variable


def about(name: str, value: str = "1", **situation: str) -> list[tuple[str, str, str, str]]:
    wanted = (
        "env-removed",
        "env-deprecated",
        "env-too-new",
        "env-unknown-name",
        "env-branch-only",
        "env-renamed",
    )
    return [
        (entry.code, entry.level.value, entry.what, entry.remedy)
        for entry in variable(name, value, P5, **situation)
        if entry.code in wanted
    ]


def test_all_245_names_are_known() -> None:
    assert len(known_names()) == 245


@pytest.mark.parametrize("name", sorted(known_names() - set(lifecycle()["deprecated"])))
def test_no_name_that_nccl_reads_is_called_unknown(name: str) -> None:
    assert about(name) == []


def test_every_variable_with_a_grammar_is_a_name_that_nccl_reads() -> None:
    assert set(variables()) <= known_names()


def test_no_name_is_in_two_tables() -> None:
    table = lifecycle()
    gone = [*table["removed"], *table["branch"]["names"], *table["later"], *table["mistaken"]]
    assert len(gone) == len(set(gone))
    assert not known_names() & set(gone)
    assert set(table["deprecated"]) <= known_names(), "a deprecated name is still read"


def test_a_removed_name_is_an_error_with_its_successor() -> None:
    assert about("NCCL_IB_CUDA_SUPPORT") == [
        (
            "env-removed",
            "error",
            "NCCL_IB_CUDA_SUPPORT is removed in NCCL 2.4: it does nothing.",
            "Delete it. In its place: NCCL_NET_GDR_LEVEL, which need not be set either.",
        )
    ]


def test_a_name_that_this_nccl_still_reads_is_a_warning_before_its_removal() -> None:
    ((_, level, what, _),) = about("NCCL_SHM_USE_CUDA_MEMCPY", nccl_version="2.30.4")
    assert (level, what) == (
        "warning",
        "NCCL_SHM_USE_CUDA_MEMCPY is removed in NCCL 2.30.7: it does nothing after 2.30.4.",
    )
    ((_, level, _, _),) = about("NCCL_SHM_USE_CUDA_MEMCPY", nccl_version="2.30.7")
    assert level == "error"


@pytest.mark.parametrize("name", lifecycle()["removed"])
def test_every_removed_name_is_reported(name: str) -> None:
    ((code, level, _, remedy),) = about(name)
    assert (code, level) == ("env-removed", "error")
    assert remedy.startswith("Delete it.")


def test_a_deprecated_name_is_a_warning_from_the_release_that_deprecates_it() -> None:
    ((code, level, what, remedy),) = [
        (entry.code, entry.level.value, entry.what, entry.remedy)
        for entry in variable("NCCL_MIN_NCHANNELS", "32", "Standard_ND96isr_H100_v5")
        if entry.code == "env-deprecated"
    ]
    assert (code, level, what, remedy) == (
        "env-deprecated",
        "warning",
        "NCCL_MIN_NCHANNELS is deprecated since NCCL 2.17.",
        "Write NCCL_MIN_CTAS.",
    )
    assert about("NCCL_MIN_NCHANNELS", "32", nccl_version="2.16.5") == []


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("NCCL_DEBGU", "Did you mean NCCL_DEBUG?"),
        ("NCCL_TIMEOUT", "Use the argument timeout of torch.distributed.init_process_group."),
        ("NCCL_SOCKET_IFNAMES", "Did you mean NCCL_SOCKET_IFNAME?"),
        ("nccl_debug", "Did you mean NCCL_DEBUG?"),
        ("NCCL_SOCKET_NSOCKS_PERTHREAD", "Did you mean NCCL_NSOCKS_PERTHREAD?"),
        ("NCCL_MIN_CHANNELS", "Did you mean NCCL_MIN_CTAS?"),
        ("NCCL_CROSS_DC", "Use the communicator's configuration field netName."),
        ("NCCL_MAKE_IT_FAST", "Delete it."),
    ],
)
def test_an_unknown_name_gets_what_was_meant(name: str, remedy: str) -> None:
    assert about(name) == [
        ("env-unknown-name", "error", f"{name} is no variable of NCCL: it does nothing.", remedy)
    ]


@pytest.mark.parametrize("name", lifecycle()["branch"]["names"])
def test_names_of_the_cross_dc_branch_do_nothing_on_a_release(name: str) -> None:
    ((code, level, what, _),) = about(name)
    assert (code, level) == ("env-branch-only", "error")
    assert "read on the branch cross-dc of NCCL and in no release" in what


def test_a_name_of_a_later_release_is_ignored_by_an_earlier_one() -> None:
    assert about("NCCL_CONF_FILE", "/a", nccl_version="2.22.3") == [
        (
            "env-too-new",
            "error",
            "NCCL_CONF_FILE is read since NCCL 2.23; 2.22.3 ignores it.",
            "Delete it, or use NCCL 2.23 or later.",
        )
    ]
    assert about("NCCL_CONF_FILE", "/a", nccl_version="2.23.0") == []
    assert [code for code, *_ in about("NCCL_PSK", "x" * 32)] == ["env-too-new"]
    assert about("NCCL_PSK", "x" * 32, nccl_version="2.32.3") == []


def test_a_name_that_no_documentation_dates_is_too_new_where_the_library_lacks_it() -> None:
    assert about("NCCL_SYM_TMA_ENABLE", nccl_version="2.29.7") == [
        (
            "env-too-new",
            "error",
            "NCCL_SYM_TMA_ENABLE is in NCCL 2.30.4 and not yet in 2.29.7; 2.29.7 ignores it.",
            "Delete it, or use NCCL 2.30.4 or later.",
        )
    ]
    assert about("NCCL_SYM_TMA_ENABLE", nccl_version="2.30.4") == []
    assert about("NCCL_SYM_TMA_ENABLE", nccl_version="2.30.0") == [], "between the two it is not known"


def test_a_name_that_a_later_release_drops_is_removed_there() -> None:
    assert about("NCCL_NET_GDR_MLOPART", nccl_version="2.31.2") == []
    ((code, level, what, _),) = about("NCCL_NET_GDR_MLOPART", nccl_version="2.32.3")
    assert (code, level) == ("env-removed", "error")
    assert what == "NCCL_NET_GDR_MLOPART is absent from NCCL 2.32.3: it does nothing."


def test_names_are_dated_once() -> None:
    assert set(first_seen()) <= known_names()
    assert not set(first_seen()) & {name for name, row in variables().items() if "since" in row}


def test_pytorchs_old_names_get_their_new_ones() -> None:
    assert about("NCCL_ASYNC_ERROR_HANDLING") == [
        (
            "env-renamed",
            "warning",
            "NCCL_ASYNC_ERROR_HANDLING is a variable of PyTorch, which calls it TORCH_NCCL_ASYNC_ERROR_HANDLING "
            "since 2.2.",
            "Write TORCH_NCCL_ASYNC_ERROR_HANDLING.",
        )
    ]


@pytest.mark.parametrize(
    "name", ["NCCL_TESTS_SPLIT_MASK", "NCCL_HOME", "NCCL_VERSION", "TORCH_NCCL_BLOCKING_WAIT"]
)
def test_names_of_other_programs_are_left_alone(name: str) -> None:
    assert variable(name, "1", P5) == []
