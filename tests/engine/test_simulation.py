"""A simulated run stays in its folder: nobody's Pulumi or cloud settings reach it."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpu_fabric.engine.binary import Engine
from gpu_fabric.engine.run import is_noise
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


@pytest.mark.parametrize(
    ("line", "noise"),
    [
        ("warning: using pulumi-resource-aws from $PATH at /x/.rehearsal/bin/pulumi-resource-aws\n", True),
        ("warning: using pulumi-language-python from $PATH at /x/bin/pulumi-language-python\n", True),
        ("warning: image: the name floats\n", False),
        ("error: fabric.aws.nodes: 0 is too small\n", False),
    ],
)
def test_only_the_messages_about_plugins_from_path_are_noise(line: str, noise: bool) -> None:
    assert is_noise(line) is noise
