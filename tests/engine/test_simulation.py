"""A simulated run stays in its folder: nobody's Pulumi or cloud settings reach it."""

from __future__ import annotations

from pathlib import Path

from gpu_fabric.engine.binary import Engine
from gpu_fabric.engine.simulation import Simulation

ENGINE = Engine(Path("/opt/pulumi/bin/pulumi"), "3.274.1", "in a test")


def test_nobodys_pulumi_and_cloud_settings_reach_a_simulated_run(tmp_path: Path) -> None:
    simulation = Simulation(tmp_path)
    base = {
        "HOME": "/home/somebody",
        "PATH": "/usr/bin",
        "PULUMI_ACCESS_TOKEN": "pul-token",
        "PULUMI_BACKEND_URL": "s3://theirs",
        "PULUMI_CONFIG_PASSPHRASE": "theirs",
        "AWS_PROFILE": "prod",
        "AWS_SECRET_ACCESS_KEY": "key",
        "ARM_CLIENT_SECRET": "secret",
    }
    environment = simulation.environment(ENGINE, base)
    assert environment["PULUMI_HOME"] == str(tmp_path / "home")
    assert environment["PULUMI_BACKEND_URL"] == (tmp_path / "state").as_uri()
    assert environment["PULUMI_CONFIG_PASSPHRASE_FILE"] == str(tmp_path / "passphrase")
    assert not {"PULUMI_ACCESS_TOKEN", "PULUMI_CONFIG_PASSPHRASE", "AWS_PROFILE", "ARM_CLIENT_SECRET"} & set(
        environment
    )
    assert "AWS_SECRET_ACCESS_KEY" not in environment
    assert environment["HOME"] == "/home/somebody"


def test_the_simulated_providers_come_first_on_path_and_the_users_tools_stay(tmp_path: Path) -> None:
    environment = Simulation(tmp_path).environment(ENGINE, {"PATH": "/usr/bin"})
    assert environment["PATH"] == f"{tmp_path / 'bin'}:/opt/pulumi/bin:/usr/bin"
