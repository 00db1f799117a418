"""The rules for an AWS cluster: for each, an input that passes, one at the border, one that fails with its message."""

from __future__ import annotations

from typing import Any

import pytest

from gpu_fabric.components.config import read_fabric
from gpu_fabric.components.problems import InvalidInputError

GOOD: dict[str, Any] = {"zone": "us-east-1a", "instanceType": "p5.48xlarge", "nodes": 4}
WITH_EFA = (
    "p4d.24xlarge, p4de.24xlarge, p5.4xlarge, p5.48xlarge, p5e.48xlarge, p5en.48xlarge, p6-b200.48xlarge, "
    "p6-b300.48xlarge, g6e.48xlarge, g5.48xlarge"
)


def problems(**changes: Any) -> list[str]:
    """What is wrong with a good cluster after `changes`, without the common beginning of the paths."""
    try:
        read_fabric({"aws": {**GOOD, **changes}}, aws_region="us-east-1")
    except InvalidInputError as refused:
        return [str(problem).removeprefix("fabric.aws.") for problem in refused.problems]
    return []


def test_the_smallest_description_of_a_cluster_is_enough() -> None:
    assert problems() == []


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"zone": "us-west-2a"},
            "zone: us-west-2a is a zone of us-west-2, and aws:region is us-east-1; give a zone of us-east-1, such as "
            "us-east-1a, or set aws:region to us-west-2",
        ),
        (
            {"zone": "us-east-1"},
            "zone: 'us-east-1' is not the name of an availability zone; give a name such as us-east-1a (a zone id "
            "such as use1-az4 is not a name)",
        ),
        (
            {"zone": "use1-az4"},
            "zone: 'use1-az4' is not the name of an availability zone; give a name such as us-east-1a (a zone id "
            "such as use1-az4 is not a name)",
        ),
        (
            {"instanceType": "Standard_ND96isr_H100_v5"},
            f"instanceType: Standard_ND96isr_H100_v5 is an Azure size; give one of {WITH_EFA}",
        ),
        (
            {"instanceType": "p5.48xlarg"},
            f"instanceType: unknown size 'p5.48xlarg' in the catalog; did you mean p5.48xlarge? known sizes are "
            f"{WITH_EFA}; or describe it under `fabric.sizes` with the catalog's fields",
        ),
        (
            {"interfaces": "maximumIpBandwidth", "instanceType": "p4d.24xlarge"},
            "interfaces: p4d.24xlarge has no interface layout 'maximumIpBandwidth': no source gives the cards that "
            "would add IP bandwidth; use oneAddress or allEfa",
        ),
        (
            {"nodes": 20, "interfaces": "allEfa", "network": {"subnetCidr": "10.100.1.0/24"}},
            "network.subnetCidr: 10.100.1.0/24 has 251 usable addresses, and 20 nodes of p5.48xlarge in layout allEfa "
            "take 32 each: 7 nodes fit; give a larger `subnetCidr`, or use `interfaces: oneAddress`, which takes 1 a "
            "node (251 nodes fit), or set `nodes` to 7 or less",
        ),
        (
            {"nodes": 252, "network": {"subnetCidr": "10.100.1.0/24"}},
            "network.subnetCidr: 10.100.1.0/24 has 251 usable addresses, and 252 nodes of p5.48xlarge in layout "
            "oneAddress take 1 each: 251 nodes fit; give a larger `subnetCidr`, or set `nodes` to 251 or less",
        ),
        (
            {"nodes": 248, "network": {"subnetCidr": "10.100.1.0/24", "internet": "endpoints"}},
            "network.subnetCidr: 10.100.1.0/24 has 251 usable addresses, and 248 nodes of p5.48xlarge in layout "
            "oneAddress take 1 each beside 4 for endpoints: 247 nodes fit; give a larger `subnetCidr`, or set "
            "`nodes` to 247 or less",
        ),
        (
            {"network": {"cidr": "10.100.0.0/15"}},
            "network.cidr: 10.100.0.0/15 is a /15; AWS takes a size between /16 and /28",
        ),
        (
            {"network": {"cidr": "10.100.0.1/16"}},
            "network.cidr: '10.100.0.1/16' is not an IPv4 address block (10.100.0.1/16 has host bits set); give "
            "10.100.0.0/16",
        ),
        (
            {"network": {"subnetCidr": "10.200.0.0/24"}},
            "network.subnetCidr: 10.200.0.0/24 is not inside the VPC 10.100.0.0/16; give a part of it",
        ),
        (
            {"network": {"subnetCidr": "10.100.0.0/24", "publicSubnetCidr": "10.100.0.0/28"}},
            "network.publicSubnetCidr: 10.100.0.0/28 overlaps the private subnet 10.100.0.0/24; give another part of "
            "the VPC",
        ),
        (
            {"network": {"cidr": "10.100.0.0/24", "subnetCidr": "10.100.0.0/24"}},
            "network.subnetCidr: 10.100.0.0/24 fills the VPC 10.100.0.0/24 and leaves no room for the NAT gateway's "
            "subnet; give a smaller subnet, a larger `cidr`, or `internet: endpoints`, which needs no NAT",
        ),
        (
            {"network": {"internet": "endpoints", "publicSubnetCidr": "10.100.0.0/28"}},
            "network.publicSubnetCidr: a network without internet has no public subnet; drop the key, or set "
            "`internet: nat`",
        ),
        (
            {"network": {"subnetId": "subnet-1"}},
            "network.vpcId: is missing; adopting a network needs both `vpcId` and `subnetId`",
        ),
        (
            {"network": {"vpcId": "vpc-1", "subnetId": "subnet-1", "cidr": "10.0.0.0/16"}},
            "network.cidr: an adopted network keeps its own blocks and routes; drop the key, or drop `vpcId` and "
            "`subnetId` to create a network",
        ),
        (
            {"network": {"securityGroupIds": ["sg-1"]}},
            "network.securityGroupIds: a security group belongs to one VPC, and this network creates a new one; give "
            "`vpcId` and `subnetId` too, or drop the key",
        ),
        (
            {"network": {"verify": True}},
            "network.verify: there is no adopted subnet to verify; drop the key",
        ),
        (
            {
                "capacity": {"kind": "capacityBlock", "reservationId": "cr-1"},
                "placement": {"group": "create"},
            },
            "placement.group: a capacity block brings its own placement, and a placement group can make it unusable; "
            "set `placement: {group: none}` or drop the key",
        ),
        (
            {"capacity": {"kind": "capacityBlock", "reservationId": "cr-1"}, "nodes": 65},
            "nodes: a capacity block holds at most 64 instances, and 65 are asked for; set `nodes` to 64 or less, and "
            "use one cluster a block",
        ),
        (
            {"capacity": {"kind": "capacityBlock"}},
            "capacity.reservationId: is missing; give the id of the capacity block's reservation, cr-…",
        ),
        (
            {"capacity": {"kind": "onDemand", "maxPrice": 3}},
            "capacity.maxPrice: is not a key that is known here; known keys: kind",
        ),
        (
            {"placement": {"group": "adopt"}},
            "placement.name: is missing; give the name of the placement group to adopt",
        ),
        (
            {"placement": {"group": "create", "name": "theirs"}},
            "placement.name: a name is given, and `group` is create; set `group: adopt`, or drop the name (a new "
            "group is named by Pulumi)",
        ),
        (
            {"rootVolume": {"sizeGib": 31, "throughputMibps": 125}},
            "rootVolume.iops: 16000 IOPS on 31 GiB exceed gp3's 500 IOPS a GiB; give at most 15500 IOPS, or at least "
            "32 GiB",
        ),
        (
            {"rootVolume": {"iops": 80_001}},
            "rootVolume.iops: 80001 is outside gp3's range; give 3000 to 80000",
        ),
        (
            {"rootVolume": {"iops": 3_999}},
            "rootVolume.throughputMibps: 1000 MiB/s on 3999 IOPS exceed gp3's 0.25 MiB/s an IOPS; give at most 999 "
            "MiB/s, or at least 4000 IOPS",
        ),
        (
            {"rootVolume": {"throughputMibps": 2_001}},
            "rootVolume.throughputMibps: 2001 MiB/s is outside gp3's range; give 125 to 2000",
        ),
        (
            {"rootVolume": {"sizeGib": 65_537}},
            "rootVolume.sizeGib: 65537 GiB is too large; gp3 holds 65536 GiB",
        ),
        (
            {"image": {"amiId": "ami-1", "ssmParameter": "/a"}},
            "image: `amiId` and `ssmParameter` exclude each other; keep the one you mean",
        ),
        (
            {"image": {"amiId": "img-1"}},
            "image.amiId: 'img-1' is not an AMI id; give an id such as ami-0abc…",
        ),
        (
            {"image": {"ssmParameter": "resolve:ssm:/a"}},
            "image.ssmParameter: 'resolve:ssm:/a' is not a parameter's name; give it with its leading slash, without "
            "`resolve:ssm:`",
        ),
        (
            {"network": {"cidr": "127.0.0.0/16"}},
            "network.cidr: 127.0.0.0/16 is loopback, link-local, multicast or reserved (RFC 6890): no host can have "
            "its addresses; give a private block, such as 10.100.0.0/16",
        ),
        (
            {"access": {"instanceProfileName": "theirs", "extraPolicyArns": ["arn:aws:iam::aws:policy/X"]}},
            "access.extraPolicyArns: an adopted instance profile has the policies of its own role; attach them there "
            "and drop the key, or drop `instanceProfileName` to get a role of ours",
        ),
        (
            {"network": {"vpcId": "banana", "subnetId": "subnet-1"}},
            "network.vpcId: 'banana' is not such an id; give one that begins with vpc-",
        ),
        (
            {"network": {"vpcId": "vpc-1", "subnetId": "subnet-1", "securityGroupIds": ["sg-1", "x"]}},
            "network.securityGroupIds[1]: 'x' is not such an id; give one that begins with sg-",
        ),
        (
            {"capacity": {"kind": "reservation", "reservationId": "banana"}},
            "capacity.reservationId: 'banana' is not such an id; give one that begins with cr-",
        ),
        (
            {"access": {"extraPolicyArns": ["ReadOnly"]}},
            "access.extraPolicyArns[0]: 'ReadOnly' is not such an id; give one that begins with arn:",
        ),
        (
            {"tags": {"aws:mine": "x"}},
            "tags.aws:mine: the prefix `aws:` is reserved by AWS; choose another key",
        ),
        (
            {"nccl": {"topology": "active"}, "instanceType": "p5en.48xlarge"},
            "nccl.topology: no PCI layout of p5en.48xlarge is published, so there is no topology file to activate; set "
            "`topology: default`, or describe the size with its layout under `fabric.sizes`",
        ),
    ],
)
def test_what_is_wrong_is_said_with_place_reason_and_remedy(changes: dict[str, Any], message: str) -> None:
    assert problems(**changes) == [message]


@pytest.mark.parametrize(
    "changes",
    [
        {"zone": "us-east-1-atl-2a"},  # a local zone of the region
        {"nodes": 251, "network": {"subnetCidr": "10.100.1.0/24"}},
        {"nodes": 247, "network": {"subnetCidr": "10.100.1.0/24", "internet": "endpoints"}},
        {"nodes": 7, "interfaces": "allEfa", "network": {"subnetCidr": "10.100.1.0/24"}},
        {"nodes": 64, "capacity": {"kind": "capacityBlock", "reservationId": "cr-1"}},
        {"capacity": {"kind": "capacityBlock", "reservationId": "cr-1"}, "placement": {"group": "none"}},
        {"capacity": {"kind": "reservation", "reservationId": "cr-1"}, "placement": {"name": "theirs"}},
        {"capacity": {"kind": "spot", "maxPrice": 12.5}},
        {"rootVolume": {"sizeGib": 32}},
        {"rootVolume": {"sizeGib": 1, "iops": 3_000, "throughputMibps": 125}},
        {"rootVolume": {"iops": 4_000}},
        {"rootVolume": {"sizeGib": 65_536, "iops": 80_000, "throughputMibps": 2_000}},
        {"network": {"vpcId": "vpc-1", "subnetId": "subnet-1", "securityGroupIds": ["sg-1"]}},
        {"network": {"cidr": "10.0.0.0/28", "internet": "endpoints"}},
        {"network": {"cidr": "10.0.0.0/16", "subnetCidr": "10.0.255.240/28"}},
        {"image": {"ssmParameter": "/mine/image:7"}},
        {"nccl": {"topology": "active"}},
        {"nodesAs": "instances", "updates": "replace"},
    ],
)
def test_what_is_legal_up_to_the_border_is_taken(changes: dict[str, Any]) -> None:
    assert problems(**changes) == []


def test_user_data_that_is_too_large_is_refused_with_the_bytes() -> None:
    # Text that gzip cannot shrink: the digits of successive hashes.
    import hashlib

    noise = "".join(hashlib.sha256(str(number).encode()).hexdigest() for number in range(600))
    (message,) = problems(bootstrap={"after": [f"echo {noise}"]})
    assert message.startswith("bootstrap.after: the node's start-up data is ")
    assert (
        " bytes after gzip, and EC2 takes 16,384; move commands into a script that the node downloads"
        in message
    )
    bytes_said = int(message.split("data is ")[1].split(" bytes")[0].replace(",", ""))
    assert bytes_said > 16_384


def test_a_variable_with_a_bad_name_is_refused_and_a_harmful_one_is_the_users_choice() -> None:
    assert problems(nccl={"environment": {"NCCL ALGO": "x"}}) == [
        "nccl.environment.NCCL ALGO: a variable's name has letters, digits and underscores only; mend it"
    ]
    assert problems(nccl={"environment": {"NCCL_ALGO": "RING,TREE"}}) == []


OWN_SIZE = {
    "cloud": "aws",
    "vcpus": 192,
    "memoryGib": 2048,
    "gpu": {"model": "X100", "count": 8, "memoryGb": 200, "computeCapability": 120, "gpudirectRdma": True},
    "fabric": "efa",
    "fabricPorts": 8,
    "fabricPortGbps": 800,
    "networkCards": 8,
    "interfacesPerCard": 4,
    "efaCards": list(range(8)),
}


def test_a_size_of_the_users_own_is_laid_out_like_one_of_the_catalog() -> None:
    given = {"sizes": {"p9.48xlarge": OWN_SIZE}, "aws": {**GOOD, "instanceType": "p9.48xlarge"}}
    settings = read_fabric(given, aws_region="us-east-1")
    assert settings.around_aws.sizes["p9.48xlarge"].fabric_gbps == 6_400


def test_what_is_wrong_with_a_size_of_the_users_own_is_said_with_its_path() -> None:
    wrong = {**OWN_SIZE, "efaCards": [0, 1, 1], "vcpu": 3}
    with pytest.raises(InvalidInputError) as refused:
        read_fabric({"sizes": {"p9": wrong, "p8": {"cloud": "gcp"}, "p7": 3}, "aws": GOOD})
    found = {str(problem).split(";")[0] for problem in refused.value.problems}
    assert "fabric.sizes.p8.cloud: 'gcp' is not a cloud" in found
    assert "fabric.sizes.p7: is not a map" in found
    assert "fabric.sizes.p9.vcpu: no field has that name" in found


@pytest.mark.parametrize(
    ("region", "message"),
    [
        ("", "zone: no region is set for the AWS provider; set aws:region to us-east-1"),
        (
            '["us-east-1"]',
            "zone: aws:region is '[\"us-east-1\"]', which is not a region; set aws:region to us-east-1",
        ),
        ("5", "zone: aws:region is '5', which is not a region; set aws:region to us-east-1"),
    ],
)
def test_a_stack_without_a_region_of_its_own_is_told_so_before_planning(region: str, message: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        read_fabric({"aws": GOOD}, aws_region=region)
    assert [str(problem) for problem in refused.value.problems] == [f"fabric.aws.{message}"]


def test_a_private_key_in_the_wrong_place_is_never_repeated() -> None:
    key = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk\n-----END OPENSSH PRIVATE KEY-----"
    for changes in ({"zone": key}, {"nodes": key}, {"image": {"amiId": key}}, {"network": {"cidr": key}}):
        assert "b3BlbnNzaC1rZXk" not in " ".join(problems(**changes))


@pytest.mark.parametrize("value", [10**400, float("inf"), "9" * 4_000])
def test_a_number_beyond_all_bounds_is_a_problem_of_a_readable_length(value: object) -> None:
    (message,) = problems(nodes=value)
    assert message.startswith("nodes: ")
    assert len(message) < 200


def test_a_size_whose_cloud_is_no_text_is_a_problem() -> None:
    with pytest.raises(InvalidInputError, match=r"fabric\.sizes\.mine\.cloud: "):
        read_fabric({"sizes": {"mine": {"cloud": ["aws"]}}, "aws": GOOD})
    with pytest.raises(InvalidInputError, match=r"fabric\.sizes: is not a map"):
        read_fabric({"sizes": False, "aws": GOOD})
