"""The two ends of the link probe on loopback: whoever else answers, or goes away, is told in words and fails."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Generator
from typing import Any

import pytest

from gpu_fabric.nccl.preflight.__main__ import main
from gpu_fabric.nccl.preflight.link import (
    LARGEST,
    Demand,
    LinkError,
    LinkMeasure,
    PathMtu,
    RefusedError,
    check_link,
    probe,
    serve,
)
from gpu_fabric.nccl.preflight.link.probe import Flow, rate_mbps
from gpu_fabric.nccl.preflight.result import State


def banner(connection: socket.socket) -> None:
    connection.sendall(b"SSH-2.0-OpenSSH_9.6\r\n")
    connection.recv(4096)


def reset(connection: socket.socket) -> None:
    connection.recv(10)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")


def greets_and_goes(connection: socket.socket) -> None:
    connection.recv(4096)
    connection.sendall(b'{"ok": true, "left": 60}\n')
    time.sleep(0.3)


def greets_and_babbles(connection: socket.socket) -> None:
    connection.recv(4096)
    connection.sendall(b'{"ok": true, "left": 60}\n' + b"[]\n" * 200)
    time.sleep(1)


@contextlib.contextmanager
def other_end(answer: Callable[[socket.socket], None]) -> Generator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def take() -> None:
            with contextlib.suppress(OSError):
                connection, _ = server.accept()
                with connection:
                    answer(connection)

        threading.Thread(target=take, daemon=True).start()
        yield server.getsockname()[1]


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (banner, "something else answers there: b'SSH-2.0-OpenSSH_9.6"),
        (lambda _: None, "the other end "),
        (reset, "the other end went away ([Errno 104] Connection reset by peer)"),
        (greets_and_goes, "the other end "),
        (greets_and_babbles, "something else answers there: b'[]"),
    ],
    ids=["a banner", "closes", "resets", "ends meanwhile", "babbles"],
)
def test_an_end_that_is_none_of_ours_or_goes_away_fails_the_link_in_words(
    answer: Callable[[socket.socket], None], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with other_end(answer) as port:
        arguments = ["--peer", "127.0.0.1", "--port", str(port), "--token", "t", "--packets", "1", "--json"]
        code = main(["link", *arguments])
    report = json.loads(capsys.readouterr().out)
    assert (code, report["results"][0]["check"]) == (1, "peer")
    assert report["results"][0]["what"].startswith(says)
    assert "link --serve" in report["results"][0]["remedy"]


def test_nobody_there_fails_the_link(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    assert main(["link", "--peer", "127.0.0.1", "--port", str(port), "--token", "t"]) == 1
    assert f"127.0.0.1:{port} does not answer" in capsys.readouterr().out


@contextlib.contextmanager
def server_of_ours(seconds: float) -> Generator[tuple[str, int]]:
    ready: list[tuple[str, int]] = []
    there = threading.Event()

    def tell(token: str, port: int) -> None:
        ready.append((token, port))
        there.set()

    arguments = {"seconds": seconds, "token": "tökén", "ready": tell}
    threading.Thread(target=serve, args=("127.0.0.1", 0), kwargs=arguments, daemon=True).start()
    assert there.wait(5)
    yield ready[0]


def test_a_server_that_would_end_before_the_measurement_says_so_at_once() -> None:
    with (
        server_of_ours(3) as (token, port),
        pytest.raises(LinkError, match=r"serves for \d s more, and this takes about 18"),
    ):
        probe("127.0.0.1", port, token=token, packets=0, seconds=5)


@pytest.mark.parametrize(
    "said", [b"", b"[1]\n", b"null\n", b"\xff\xfe\n", b"{}\n", b'{"token": 3}\n', b"[" * 4000]
)
def test_nothing_that_a_stranger_says_ends_the_server(said: bytes) -> None:
    with server_of_ours(60) as (token, port):
        with socket.create_connection(("127.0.0.1", port)) as stranger:
            stranger.sendall(said)
        with pytest.raises(RefusedError, match="wrong token"):
            probe("127.0.0.1", port, token="andere")
        measure = probe("127.0.0.1", port, token=token, packets=3, seconds=0.2, flows=1)
    found = {result.check: result for result in check_link(measure, Demand(), "x").results}
    assert found["mtu-forward"].state is State.PASS
    assert found["mtu-forward"].what == f"{LARGEST} bytes pass to the other cloud, and no more were tried"


@pytest.mark.parametrize("check", ["mtu-forward", "mtu-back"])
def test_a_route_that_nobody_knows_is_no_pass(check: str) -> None:
    path = PathMtu(1400, None, None, 9001)
    measure = LinkMeasure([1.0] * 10, 10, path, path, 100.0, 100.0)
    found: dict[str, Any] = {
        result.check: result.state for result in check_link(measure, Demand(), "x").results
    }
    assert found[check] is State.UNKNOWN


def test_what_was_not_measured_is_no_pass() -> None:
    report = check_link(LinkMeasure(), Demand(), "x")
    assert {result.state for result in report.results} == {State.FAIL, State.UNKNOWN}


def test_an_interface_of_the_sender_that_is_the_limit_is_named() -> None:
    measure = LinkMeasure(rtt_ms=[1.0], sent=1, forward=PathMtu(1380, 1380, None, device=1380))
    found = next(
        result for result in check_link(measure, Demand(), "x").results if result.check == "mtu-forward"
    )
    assert found.what == (
        "1380 bytes pass to the other cloud, and 1400 are promised; "
        "larger ones do not fit the sender's own interface (1380 bytes)"
    )
    assert found.remedy == "Raise that interface's MTU, or promise no more (--mtu, `mtu` of the link)."


# ---- how fast -------------------------------------------------------------------------------------------------------


def test_every_flow_is_counted_by_the_end_that_receives_it() -> None:
    """Both ends stop by clocks of their own; the receiver reads to the end, so nobody is cut off and counted as 0."""
    with server_of_ours(60) as (token, port):
        measures = [probe("127.0.0.1", port, token=token, packets=1, seconds=0.2, flows=8) for _ in range(3)]
    for measure in measures:
        assert (measure.mute_up, measure.mute_down) == (0, 0)
        assert not (measure.stalled_up or measure.stalled_down)


def test_flows_that_run_one_after_the_other_are_not_counted_as_if_at_once() -> None:
    at_once = [Flow(1_000_000, 10.0, 11.0), Flow(1_000_000, 10.0, 11.0)]
    one_by_one = [Flow(1_000_000, 10.0, 11.0), Flow(1_000_000, 11.0, 12.0)]
    assert (rate_mbps(at_once), rate_mbps(one_by_one), rate_mbps([])) == (16.0, 8.0, 0.0)


def test_a_flow_that_gives_no_answer_makes_the_throughput_unknown() -> None:
    measure = LinkMeasure(rtt_ms=[1.0], sent=1, mbps_up=900.0, mbps_down=950.0, mute_up=2)
    found = {result.check: result for result in check_link(measure, Demand(bandwidth_mbps=1000), "x").results}
    assert found["throughput-up"].state is State.UNKNOWN
    assert found["throughput-up"].what == "2 of 8 flows gave no answer; the others reached 900 Mbit/s"
    assert found["throughput-down"].state is State.PASS


@pytest.mark.parametrize(
    ("peer", "says"),
    [
        ("a..b", "'a..b' is no name of a host"),
        ("a" * 70, "is no name of a host"),
        ("::1", "::1 is no IPv4 address, and the probe speaks IPv4 only"),
    ],
)
def test_an_address_that_cannot_be_asked_is_said_in_words(peer: str, says: str) -> None:
    with pytest.raises(LinkError) as refused:
        probe(peer, 47_000, token="t")
    assert says in str(refused.value)
    assert "Give the" in refused.value.remedy
