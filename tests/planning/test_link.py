"""What a link between clouds carries."""

from __future__ import annotations

import pytest

from gpu_fabric.planning.link import LinkModel
from gpu_fabric.planning.regions import closest_partner, region_pair


def test_packets_of_1400_bytes_leave_about_95_percent_for_payload():
    assert LinkModel(10, 3.5).payload_share == pytest.approx(1360 / 1438)
    assert LinkModel(10, 3.5).goodput_gbps == pytest.approx(9.46, abs=0.01)


def test_one_flow_carries_five_gigabits_at_most():
    assert LinkModel(100, 3.5, flows=1).goodput_gbps == 5
    assert LinkModel(100, 3.5, flows=1).limit == "1 flows of 5.00 Gb/s"
    assert LinkModel(100, 3.5).limit == "100 Gb/s"
    assert LinkModel(400, 3.5).goodput_gbps == 320
    assert LinkModel(400, 3.5).between(4).limit == "400 Gb/s"


def test_loss_limits_a_flow_by_the_mathis_formula():
    link = LinkModel(10, 3.5, loss=1e-5, flows=1)
    assert link.goodput_gbps == pytest.approx(1.2, abs=0.02)


def test_the_bandwidth_delay_product_is_what_buffers_must_hold():
    assert LinkModel(10, 3.5).bandwidth_delay_mb == pytest.approx(4.375)
    assert LinkModel(100, 3.5).bandwidth_delay_mb == pytest.approx(43.75)


def test_64_mib_occupy_ten_gigabits_for_57_milliseconds():
    assert LinkModel(10, 3.5).transfer_seconds(64 * 2**20) == pytest.approx(0.0568, abs=0.0002)


def test_region_pairs_are_ranges_that_say_they_are_estimates():
    pair = region_pair("us-east-1", "eastus2")
    assert pair is not None
    assert (pair.low_ms, pair.high_ms, pair.rtt_ms) == (4.5, 6.0, 6.0)
    assert pair.basis == "estimated from distance, 4.5 to 6 ms; not measured"
    near = closest_partner("us-east-1")
    assert near is not None
    assert near.azure == "eastus"
    assert region_pair("us-east-1", "westeurope") is None
    assert closest_partner("sa-east-1") is None
