"""What was measured against what is demanded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

from gpu_fabric.nccl.preflight.link.datagrams import LARGEST, SMALLEST
from gpu_fabric.nccl.preflight.link.measure import Demand, LinkMeasure, PathMtu, percentile
from gpu_fabric.nccl.preflight.result import Report, Result, failed, passed, unknown, warned


def check_link(measure: LinkMeasure, demand: Demand, peer: str) -> Report:
    """What was measured against what the stack expects."""
    results = (*_rtt(measure, demand), *_mtus(measure, demand), *_throughput(measure, demand))
    facts = {
        "rtt_ms": {f"p{share}": round(percentile(measure.rtt_ms, share / 100), 3) for share in (50, 90, 99)}
        if measure.rtt_ms
        else {},
        "loss": round(measure.loss, 5),
        "forward": asdict(measure.forward) if measure.forward else None,
        "back": asdict(measure.back) if measure.back else None,
        "mbps_up": measure.mbps_up,
        "mbps_down": measure.mbps_down,
        "demand": asdict(demand),
    }
    return Report(f"link to {peer}", results, facts)


def _rtt(measure: LinkMeasure, demand: Demand) -> Iterator[Result]:
    if not measure.rtt_ms:
        yield failed(
            "rtt", "no UDP packet came back", "Let the security groups and firewalls of both clouds pass UDP."
        )
        return
    median, p99 = percentile(measure.rtt_ms, 0.5), percentile(measure.rtt_ms, 0.99)
    what = f"{median:.2f} ms, p99 {p99:.2f} ms, over {len(measure.rtt_ms)} packets"
    if median > demand.rtt_ms:
        remedy = "Compare the route (traceroute) with the planned one: is the far region the nearest to the exchange?"
        yield failed("rtt", f"{what}; {demand.rtt_ms:g} ms is the limit", remedy)
    elif p99 > 2 * demand.rtt_ms:
        yield warned(
            "rtt", f"{what}: the slowest take more than twice the limit", "Look for a full queue on the link."
        )
    else:
        yield passed("rtt", what)
    loss = f"{measure.loss:.3%} of {measure.sent} packets"
    if measure.loss > demand.loss:
        yield failed(
            "loss",
            f"{loss} lost; {demand.loss:.3%} is the limit",
            "Look for errors at the exchange, and for a policer.",
        )
    else:
        yield passed("loss", f"{loss} lost")


def _mtus(measure: LinkMeasure, demand: Demand) -> Iterator[Result]:
    for check, way, path in (
        ("mtu-forward", "to the other cloud", measure.forward),
        ("mtu-back", "back", measure.back),
    ):
        if path is None or path.largest is None:
            yield unknown(check, f"no packet of {SMALLEST} bytes arrived", "Mend loss and firewalls first.")
            continue
        hole, remedy = _larger(path, min(demand.mtu, path.largest))
        if path.route is None:
            what = f"{path.largest} bytes pass {way}; what the sender's route says is not known"
            yield unknown(check, what, "Compare `ip route get` there.")
        elif path.largest < demand.mtu:
            yield failed(
                check,
                f"{path.largest} bytes pass {way}, and {demand.mtu} are promised; larger ones {hole}",
                remedy,
            )
        elif path.largest >= LARGEST:
            yield passed(check, f"{path.largest} bytes pass {way}, and no more were tried")
        elif path.route > path.largest:
            what = f"{path.largest} bytes pass {way}, and the sender's route says {path.route}; larger packets {hole}"
            yield failed(check, what + (": bulk transfers hang" if path.silent else ""), remedy)
        else:
            yield passed(check, f"{path.largest} bytes pass {way}; the sender's route says {path.route}")


def _larger(path: PathMtu, mtu: int) -> tuple[str, str]:
    """What becomes of packets larger than the largest that arrived, and what to do."""
    if not path.silent and path.told is None:
        what = f"do not fit the sender's own interface ({path.device} bytes)"
        return what, "Raise that interface's MTU, or promise no more (--mtu, `mtu` of the link)."
    remedy = (
        f"Put `ip route … mtu lock {mtu}` on the routes of the sending side (CrossCloudRoutes of the node's setup); "
        "let ICMP type 3 code 4 pass."
    )
    return (
        "vanish without a word (a black hole)" if path.silent else f"are answered with MTU {path.told}",
        remedy,
    )


def _throughput(measure: LinkMeasure, demand: Demand) -> Iterator[Result]:
    for check, mbps, stalled, mute in (
        ("throughput-up", measure.mbps_up, measure.stalled_up, measure.mute_up),
        ("throughput-down", measure.mbps_down, measure.stalled_down, measure.mute_down),
    ):
        if mbps is None:
            yield unknown(check, "not measured", "Run the probe to its end.")
        elif mute:
            what = f"{mute} of {demand.flows} flows gave no answer; the others reached {mbps:,.0f} Mbit/s"
            yield unknown(check, what, "Run it again; a firewall may limit the connections of one address.")
        elif stalled:
            yield failed(check, f"{demand.flows} flows hang after their first segments", "See the MTU above.")
        elif demand.bandwidth_mbps is None:
            yield passed(check, f"{mbps:,.0f} Mbit/s with {demand.flows} flows")
        elif mbps < demand.throughput_share * demand.bandwidth_mbps:
            wanted = demand.throughput_share * demand.bandwidth_mbps
            remedy = "Use more flows, or larger buffers (bandwidth times delay). Above 10 Gbit/s compare with iperf3."
            yield failed(
                check, f"{mbps:,.0f} Mbit/s with {demand.flows} flows; {wanted:,.0f} are wanted", remedy
            )
        else:
            yield passed(
                check, f"{mbps:,.0f} of {demand.bandwidth_mbps:,.0f} Mbit/s with {demand.flows} flows"
            )
