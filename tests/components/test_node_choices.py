"""What a user chooses for a node's boot, with the same words on both clouds: as declared, as rendered, as refused."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest
import yaml

from gpu_fabric.components.azure.limits import READER, TAG_CONTRIBUTOR
from gpu_fabric.components.config import read_fabric
from gpu_fabric.components.problems import InvalidInputError
from gpu_fabric.nccl import paths
from tests.components import arm
from tests.components.recorder import Recording, record_azure_cluster, record_cluster

AWS = {"zone": "us-east-1a", "instance_type": "p5.48xlarge", "nodes": 2}
AZURE = {"vm_size": "Standard_ND96isr_H100_v5", "nodes": 2}
STACK_FILE: Mapping[str, dict[str, Any]] = {
    "aws": {"zone": "us-east-1a", "instanceType": "p5.48xlarge", "nodes": 2},
    "azure": {"vmSize": "Standard_ND96isr_H100_v5", "nodes": 2},
}
POLICY = "aws:iam/rolePolicy:RolePolicy"
ROLE = "azure-native:authorization:RoleAssignment"
IDENTITY = "azure-native:managedidentity:UserAssignedIdentity"
MACHINE = "azure-native:compute:VirtualMachine"
SCALE_SET = "azure-native:compute:VirtualMachineScaleSet"


def aws(**changes: Any) -> Recording:
    return record_cluster({**AWS, **changes})


def azure(**changes: Any) -> Recording:
    return record_azure_cluster({**AZURE, **changes})


def start_up_data(recording: Recording) -> str:
    for resource in recording.resources:
        profile = resource.inputs.get("virtualMachineProfile", resource.inputs)
        given = resource.inputs.get("userData") or profile.get("osProfile", {}).get("customData")
        if given:
            return gzip.decompress(base64.b64decode(given)).decode()
    raise AssertionError("no node")


def steps(recording: Recording) -> dict[str, dict[str, Any]]:
    """The node's steps by name."""
    files = {file["path"]: file for file in yaml.safe_load(start_up_data(recording))["write_files"]}
    return {step["name"]: step for step in json.loads(files[paths.SETUP_PLAN]["content"])["steps"]}


BOTH = pytest.mark.parametrize("cluster", [aws, azure], ids=["AWS", "Azure"])


@BOTH
def test_without_a_word_the_disks_are_on_scratch_and_the_rest_is_off(
    cluster: Callable[..., Recording],
) -> None:
    found = steps(cluster())
    assert found["scratch"]["mount"] == "/scratch"
    assert found["containers"] == {"name": "containers", "do": "skip", "reason": "not asked for"}
    assert not [name for name in found if name.startswith(("before", "after"))]
    assert f"{paths.LIBRARY}/tag.py" not in start_up_data(cluster())


@BOTH
def test_the_users_commands_come_before_and_after_ours(cluster: Callable[..., Recording]) -> None:
    found = steps(cluster(bootstrap={"before": ["echo one", "echo two"], "after": ["echo three"]}))
    names = list(found)
    assert names[:3] == ["before-1", "before-2", "services"]
    assert names[-2:] == ["routes", "after-1"]
    assert [found[name]["run"] for name in ("before-1", "before-2", "after-1")] == [
        "echo one",
        "echo two",
        "echo three",
    ]


@BOTH
def test_scratch_goes_where_the_user_wants_it_or_nowhere(cluster: Callable[..., Recording]) -> None:
    assert steps(cluster(bootstrap={"scratch": "/data/local/"}))["scratch"]["mount"] == "/data/local"
    assert steps(cluster(bootstrap={"scratch": "none"}))["scratch"] == {
        "name": "scratch",
        "do": "skip",
        "reason": "not asked for",
    }


@BOTH
def test_container_runtimes_get_our_files_when_asked(cluster: Callable[..., Recording]) -> None:
    found = cluster(bootstrap={"containers": True})
    assert steps(found)["containers"] == {"name": "containers"}
    assert f"{paths.LIBRARY}/containers.py" in start_up_data(found)


@BOTH
def test_the_versions_that_a_node_must_have_travel_with_its_files(cluster: Callable[..., Recording]) -> None:
    asked = start_up_data(cluster(bootstrap={"versions": {"driver": "580", "nccl": "2.27.5"}}))
    files = {file["path"]: file for file in yaml.safe_load(asked)["write_files"]}
    assert json.loads(files[paths.VERSIONS]["content"]) == {"driver": "580", "nccl": "2.27.5"}
    assert paths.VERSIONS not in start_up_data(cluster())


def test_an_aws_node_may_write_one_tag_to_its_own_instance_and_only_where_that_is_asked_for() -> None:
    def policies(**bootstrap: Any) -> dict[str, Any]:
        return {
            policy.name: json.loads(policy.inputs["policy"])
            for policy in aws(bootstrap=bootstrap).of_type(POLICY)
        }

    assert not any("CreateTags" in json.dumps(policy) for policy in policies().values())
    assert policies(state_tag=True)["train-state-tag"]["Statement"] == [
        {
            "Effect": "Allow",
            "Action": "ec2:CreateTags",
            "Resource": "arn:aws:ec2:us-east-1:*:instance/*",
            "Condition": {
                "ArnLike": {"ec2:SourceInstanceARN": "arn:aws:ec2:us-east-1:*:instance/${ec2:InstanceId}"},
                "ForAllValues:StringEquals": {"aws:TagKeys": ["gpu-fabric:state"]},
            },
        }
    ]
    elsewhere = record_cluster(
        {**AWS, "zone": "cn-north-1a", "bootstrap": {"state_tag": True}},
        config={"aws:region": "cn-north-1"},
    )
    tag = next(policy for policy in elsewhere.of_type(POLICY) if policy.name == "train-state-tag")
    assert "arn:aws-cn:ec2:cn-north-1:*:instance/*" in tag.inputs["policy"]


def test_the_policy_is_there_before_the_first_node_starts() -> None:
    recording = aws(bootstrap={"state_tag": True})
    policy = next(policy for policy in recording.of_type(POLICY) if policy.name == "train-state-tag")
    assert policy.urn in recording.one("aws:autoscaling/group:Group").depends_on


def test_an_instance_profile_of_the_users_gets_no_policy_and_that_is_said() -> None:
    recording = aws(bootstrap={"state_tag": True}, access={"instance_profile_name": "theirs"})
    assert recording.of_type(POLICY) == []
    (said,) = [text for _, text in recording.messages if "stateTag" in text]
    assert said == (
        "bootstrap: `stateTag` needs ec2:CreateTags, and an instance profile of yours gets no policy from us; allow it "
        "for the key gpu-fabric:state, or the nodes write no tag."
    )


def definition(role: str) -> str:
    return f"/subscriptions/{arm.SUBSCRIPTION}/providers/Microsoft.Authorization/roleDefinitions/{role}"


def test_azure_nodes_may_tag_their_own_scale_set_and_nothing_else() -> None:
    recording = azure(bootstrap={"state_tag": True})
    fleet, role, identity = recording.one(SCALE_SET), recording.one(ROLE), recording.one(IDENTITY)
    assert (role.inputs["scope"], role.inputs["roleDefinitionId"]) == (fleet.id, definition(TAG_CONTRIBUTOR))
    assert fleet.inputs["identity"] == {"type": "UserAssigned", "userAssignedIdentities": [identity.id]}
    said = " ".join(text for _, text in recording.messages)
    assert "the role assignment of `stateTag` needs the right to assign roles" in said
    assert "That an instance of a scale set takes the tag this way is unverified." in said


def test_one_identity_serves_both_finding_peers_and_the_tag() -> None:
    recording = azure(bootstrap={"state_tag": True}, access={"find_peers": True})
    recording.one(IDENTITY)
    assert {role.inputs["roleDefinitionId"] for role in recording.of_type(ROLE)} == {
        definition(READER),
        definition(TAG_CONTRIBUTOR),
    }


def test_each_single_machine_of_azure_is_a_scope_of_its_own() -> None:
    recording = azure(bootstrap={"state_tag": True}, nodes_as="instances")
    machines = recording.of_type(MACHINE)
    # Pulumi makes them in any order.
    assert {role.name: role.inputs["scope"] for role in recording.of_type(ROLE)} == {
        f"{machine.name}-state-tag": machine.id for machine in machines
    }
    identity = recording.one(IDENTITY).id
    assert {tuple(machine.inputs["identity"]["userAssignedIdentities"]) for machine in machines} == {
        (identity,)
    }


def test_an_identity_of_the_users_gets_no_role_and_that_is_said() -> None:
    theirs = (
        "/subscriptions/s/resourceGroups/g/providers/Microsoft.ManagedIdentity/userAssignedIdentities/theirs"
    )
    recording = azure(bootstrap={"state_tag": True}, access={"identity_id": theirs})
    assert recording.of_type(ROLE) == []
    assert any("give it Tag Contributor for the nodes" in text for _, text in recording.messages)


@pytest.mark.parametrize("updates", ["keep", "replace"])
def test_the_tag_that_a_node_writes_is_not_drift(updates: str) -> None:
    for cluster, type_ in ((aws, "aws:ec2/instance:Instance"), (azure, MACHINE)):
        arguments = {"nodes_as": "instances", "updates": updates}
        for asked in (True, False):
            nodes = cluster(bootstrap={"state_tag": asked}, **arguments).of_type(type_)
            assert {'tags["gpu-fabric:state"]' in node.ignore_changes for node in nodes} == {asked}


def problems(cloud: str, **changes: Any) -> list[str]:
    try:
        read_fabric(
            {cloud: {**STACK_FILE[cloud], **changes}}, aws_region="us-east-1", azure_location="eastus"
        )
    except InvalidInputError as refused:
        return [str(problem).removeprefix(f"fabric.{cloud}.") for problem in refused.problems]
    return []


CLOUDS = pytest.mark.parametrize("cloud", ["aws", "azure"])
NO_PATH = "is not an absolute path of letters, digits and `._+-` without `..`"
REMEDY = "give a folder of its own such as /scratch, or `none` to leave the disks alone"


@CLOUDS
@pytest.mark.parametrize(
    ("bootstrap", "message"),
    [
        (
            {"scratch": "scratch"},
            f"bootstrap.scratch: 'scratch' {NO_PATH}; {REMEDY}",
        ),
        (
            {"scratch": "/a/../etc"},
            f"bootstrap.scratch: '/a/../etc' {NO_PATH}; {REMEDY}",
        ),
        (
            {"scratch": "/my disk"},
            f"bootstrap.scratch: '/my disk' {NO_PATH}; {REMEDY}",
        ),
        (
            {"scratch": "/"},
            f"bootstrap.scratch: / holds files of the system, which a mounted disk would hide; {REMEDY}",
        ),
        (
            {"scratch": "/var/lib/"},
            f"bootstrap.scratch: /var/lib/ holds files of the system, which a mounted disk would hide; {REMEDY}",
        ),
        (
            {"scratch": "/etc/gpu-fabric"},
            "bootstrap.scratch: /etc/gpu-fabric holds files of the system, which a mounted disk would hide; "
            f"{REMEDY}",
        ),
        ({"scratch": True}, "bootstrap.scratch: True is true or false, not text; put it in quotes"),
        ({"containers": "yes"}, "bootstrap.containers: 'yes' is text; write true or false"),
        (
            {"versions": {"driver": 580}},
            "bootstrap.versions.driver: 580 is a number, not text; put it in quotes",
        ),
        (
            {"versions": {"driver": "latest"}},
            "bootstrap.versions.driver: 'latest' is no version such as '580' or '2.27.5'; give another, or drop the "
            "key",
        ),
        (
            {"versions": {"drivr": "580"}},
            "bootstrap.versions.drivr: is not a key that is known here; did you mean `driver`? known keys: driver, "
            "cuda, efa, libfabric, plugin, nccl, kernel",
        ),
        ({"stateTag": 1}, "bootstrap.stateTag: 1 is a number; write true or false"),
        ({"before": "true"}, "bootstrap.before: text stands where a list belongs; write `- item` lines"),
        ({"before": [" "]}, "bootstrap.before[0]: is empty; give a command, or drop the item"),
        ({"after": ["true", ""]}, "bootstrap.after[1]: is empty; give a command, or drop the item"),
        (
            {"commandsBefore": ["true"]},
            "bootstrap.commandsBefore: is not a key that is known here; known keys: before, after, scratch, "
            "containers, versions, stateTag",
        ),
    ],
)
def test_what_is_wrong_is_said_alike_on_both_clouds(
    cloud: str, bootstrap: dict[str, Any], message: str
) -> None:
    assert problems(cloud, bootstrap=bootstrap) == [message]


@CLOUDS
@pytest.mark.parametrize("scratch", ["none", "/scratch", "/mnt/scratch", "/var/lib/docker", "/opt/fast"])
def test_folders_of_their_own_are_taken(cloud: str, scratch: str) -> None:
    assert problems(cloud, bootstrap={"scratch": scratch}) == []


def test_scratch_on_a_size_without_local_disks_is_refused_where_it_is_asked_for() -> None:
    size = {"vmSize": "Standard_ND96asr_v4"}
    assert problems("azure", **size) == []
    assert problems("azure", **size, bootstrap={"scratch": "none"}) == []
    assert problems("azure", **size, bootstrap={"scratch": "/scratch"}) == [
        "bootstrap.scratch: the catalog has no local NVMe disks for Standard_ND96asr_v4; drop the key, or describe the "
        "size with its disks under `fabric.sizes`"
    ]


def test_the_path_of_too_much_start_up_data_is_the_key_that_adds_most() -> None:
    import hashlib

    noise = "".join(hashlib.sha256(str(number).encode()).hexdigest() for number in range(600))
    for key, changes in (
        ("bootstrap.before", {"bootstrap": {"before": [f"echo {noise}"], "after": ["true"]}}),
        ("bootstrap.after", {"bootstrap": {"before": ["true"], "after": [f"echo {noise}"]}}),
        ("nccl.environment", {"nccl": {"environment": {f"X{n}": noise[n * 960 :][:960] for n in range(40)}}}),
    ):
        (message,) = problems("aws", **changes)
        assert message.startswith(f"{key}: the node's start-up data is "), message


def test_a_snake_case_argument_is_named_as_python_writes_it() -> None:
    with pytest.raises(InvalidInputError, match=r"bootstrap\.state_tag: 'on' is text; write true or false"):
        aws(bootstrap={"state_tag": "on"})
