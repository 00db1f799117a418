"""What starting a simulated cloud costs: each of its processes starts anew in every run of the engine."""

from __future__ import annotations

import subprocess
import sys

import pytest

from gpu_fabric.rehearsal.clouds import CLOUDS

PROCESSES = ["language_python", *(f"{folder}.cloud" for folder in CLOUDS.values())]


@pytest.mark.parametrize("module", PROCESSES)
def test_a_process_of_the_simulated_clouds_does_without_pulumis_sdk(module: str) -> None:
    code = f"import sys, gpu_fabric.rehearsal.core.serve, gpu_fabric.rehearsal.{module}\nprint('pulumi' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == "False\n"


def test_the_protocol_and_the_sdk_have_the_same_messages_in_whatever_order_they_come() -> None:
    code = (
        "from gpu_fabric.rehearsal.core.protocol import provider_pb2 as ours\n"
        "from pulumi.runtime.proto import provider_pb2 as theirs\n"
        "theirs.CreateRequest.SerializeToString(ours.CreateRequest(urn='u'))\n"
        "print(ours.CreateRequest is theirs.CreateRequest)"
    )
    swapped = "\n".join([code.splitlines()[1], code.splitlines()[0], *code.splitlines()[2:]])
    for order in (code, swapped):
        done = subprocess.run(
            [sys.executable, "-c", order], capture_output=True, text=True, check=True, timeout=60
        )
        assert done.stdout == "True\n"
