"""The stack's report: written by the program, with what it knows, and its headline numbers exported."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gpu_fabric.components.config import read_fabric
from gpu_fabric.components.problems import InvalidInputError
from gpu_fabric.components.report import fabric_report, write_report

AWS = {"zone": "us-east-1a", "instanceType": "p5.48xlarge", "nodes": 4}
AZURE = {"vmSize": "Standard_ND96isr_H100_v5", "nodes": 4, "location": "eastus"}


def settings(**sections: Any) -> Any:
    return read_fabric({"aws": AWS, **sections}, aws_region="us-east-1", azure_location="eastus", name="dev")


def test_the_report_is_written_beside_the_project_and_its_headline_returned(tmp_path: Path) -> None:
    headline = write_report(settings(), "dev", tmp_path)
    text = (tmp_path / "reports" / "dev.md").read_text()
    assert text.startswith("# Fabric report: dev\n")
    assert headline["report"] == "reports/dev.md"
    assert headline["stepSeconds"] > 0
    assert headline["usdPerHour"] > 4 * 55


def test_the_report_has_the_address_plan_and_the_variables_in_force() -> None:
    text = fabric_report(
        settings(aws={**AWS, "nccl": {"environment": {"NCCL_ALGO": "RING,TREE"}}})
    ).markdown()
    for block in ("10.100.0.0/16", "10.100.16.0/20", "10.100.0.0/28"):
        assert block in text
    assert "RING,TREE" in text
    assert "env-" in text, "what lint says about the user's variable stands in the report"


def test_both_clouds_and_the_training_of_the_stack_file_are_in_it() -> None:
    text = fabric_report(
        settings(azure=AZURE, training={"model": "llama-3-8b", "globalBatch": 256})
    ).markdown()
    assert "llama-3-8b" in text
    assert "Standard_ND96isr_H100_v5" in text
    assert "10.200.0.0/16" in text


@pytest.mark.parametrize(
    ("circuit", "line"),
    [
        ({}, "ExpressRoute Local circuit, 10000 Mb/s"),
        ({"tier": "Standard"}, "ExpressRoute circuit, 10000 Mb/s, metered"),
        ({"tier": "Standard", "family": "UnlimitedData"}, "ExpressRoute circuit, 10000 Mb/s, unlimited"),
    ],
)
def test_the_link_is_billed_for_the_circuit_that_the_program_orders(circuit: Any, line: str) -> None:
    link = {"partner": "manual", "bandwidthMbps": 10_000, "redundancy": "circuit", "circuit": circuit}
    made = fabric_report(settings(azure=AZURE, interconnect=link))
    items = {item.what: item.quantity for item in made.bill.items}
    assert line in items
    assert items["Direct Connect hosted connection, 10000 Mb/s"] == 2
    assert items["manual connections"] == 4
    assert ("egress from Azure" in items) == line.endswith("metered")


def test_it_says_when_simulated_clouds_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GPU_FABRIC_CLOUD", raising=False)
    assert "simulated clouds" not in fabric_report(settings()).markdown()
    monkeypatch.setenv("GPU_FABRIC_CLOUD", "simulated")
    assert "Previewed against simulated clouds." in fabric_report(settings()).markdown()


@pytest.mark.parametrize(
    ("training", "message"),
    [
        (
            {"model": "llama-3-70"},
            "fabric.training.model: unknown model 'llama-3-70'; did you mean llama-3-70b? known: llama-3-8b, ",
        ),
        ({"globalBatch": 0}, "fabric.training.globalBatch: 0 is too small; give at least 1"),
        (
            {"globalbatch": 8},
            "fabric.training.globalbatch: is not a key that is known here; did you mean `globalBatch`? known keys: ",
        ),
        (["llama"], "fabric.training: a list stands where a map belongs; write `key: value` lines"),
        ({"layout": {"tensor": 0}}, "fabric.training.layout.tensor: 0 is too small; give at least 1"),
    ],
)
def test_a_training_that_cannot_be_read_is_a_problem_of_the_stack_file(training: Any, message: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        settings(training=training)
    (problem,) = refused.value.problems
    assert str(problem).startswith(message)
