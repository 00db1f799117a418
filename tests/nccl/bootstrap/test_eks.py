"""Start-up data for a node that EKS starts: what EKS merges, and what the node does before it joins."""

from __future__ import annotations

import base64
import email
import gzip
import json
from email.message import Message
from typing import Any

import pytest
import yaml

from gpu_fabric.nccl import paths
from gpu_fabric.nccl.bootstrap import EKS_USER_DATA_LIMIT, Setup, eks_user_data, node_files
from gpu_fabric.nccl.environment import environment
from gpu_fabric.nccl.hardware import Cloud, Fabric, load_sizes
from tests.node_real.isolated import isolated_root

SIZES = [
    name
    for name, size in load_sizes().items()
    if size.cloud is Cloud.AWS and size.fabric is Fabric.EFA and size.supported
]
JOIN = "/etc/systemd/system/nodeadm-run.service.d/gpu-fabric.conf"


def rendered(size: str, setup: Setup | None = None) -> str:
    return eks_user_data(size, environment=environment(size), setup=setup)


def parts(text: str) -> dict[str, str]:
    found = email.message_from_string(text)
    assert found.get_content_type() == "multipart/mixed"
    payload: Any = found.get_payload()
    return {part.get_content_type(): part.get_payload() for part in payload if isinstance(part, Message)}


def files(text: str) -> dict[str, str]:
    config = yaml.safe_load(parts(text)["text/cloud-config"])
    for entry in config["write_files"]:
        assert entry["encoding"] == "gz+b64"
    return {
        entry["path"]: gzip.decompress(base64.b64decode(entry["content"])).decode()
        for entry in config["write_files"]
    }


def steps(text: str) -> dict[str, dict[str, Any]]:
    return {step["name"]: step for step in json.loads(files(text)[paths.SETUP_PLAN])["steps"]}


@pytest.mark.parametrize("size", SIZES)
def test_it_is_plain_text_and_leaves_room_for_what_eks_adds(size: str) -> None:
    text = rendered(size)
    assert len(text.encode("ascii")) <= 0.8 * EKS_USER_DATA_LIMIT, (
        "a fifth is left to the user's own commands"
    )
    assert text == rendered(size)


def test_the_node_gets_the_files_of_any_other_node_but_the_program_that_starts_a_job() -> None:
    found = files(rendered("p5.48xlarge"))
    for file in node_files("p5.48xlarge", environment=environment("p5.48xlarge")):
        assert (file.path in found) is (file.path != paths.ENTRYPOINT)


def test_a_node_whose_setup_failed_does_not_join_the_cluster() -> None:
    text = rendered("p5.48xlarge")
    assert files(text)[JOIN] == f"[Service]\nExecStartPre=/usr/bin/python3 -B {paths.SETUP} wait\n"
    config = yaml.safe_load(parts(text)["text/cloud-config"])
    assert config["runcmd"][0] == "systemctl daemon-reload"


def test_nothing_waits_for_what_the_image_brings_after_the_node_has_joined() -> None:
    found = steps(rendered("p5.48xlarge"))
    assert found["services"]["units"] == []
    assert found["gpus"] == {"name": "gpus", "do": "skip", "reason": "this image loads their drivers later"}
    assert found["fabric"] == {
        "name": "fabric",
        "do": "efa",
        "count": 32,
        "pages": 5128,
        "libfabric": False,
    }
    assert found["packages"]["do"] == found["scratch"]["do"] == "skip"
    assert found["limits"]["memlock"] == "unlimited"


def test_nodeadm_gets_the_local_disks() -> None:
    assert load_sizes()["p5.48xlarge"].local_nvme_gb
    config = parts(rendered("p5.48xlarge"))["application/node.eks.aws"]
    assert yaml.safe_load(config) == {
        "apiVersion": "node.eks.aws/v1alpha1",
        "kind": "NodeConfig",
        "spec": {"instance": {"localStorage": {"strategy": "RAID0"}}},
    }


def test_the_users_commands_are_steps_around_ours() -> None:
    found = steps(rendered("p5.48xlarge", Setup(commands_before=("true",), commands_after=("echo done",))))
    assert [*found][:1] + [*found][-1:] == ["before-1", "after-1"]


def test_cloud_init_itself_accepts_the_cloud_config(tmp_path: Any) -> None:
    text = parts(rendered("p5.48xlarge"))["text/cloud-config"]
    with isolated_root(tmp_path, needs=("cloud-init",)) as root:
        root.write("/user-data", text)
        assert "Valid" in root.run("cloud-init", "schema", "-c", "/user-data").stdout
