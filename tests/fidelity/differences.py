"""Every place where a third party's model and our requests disagree, with the reason why the request stays as it is.

A test fails when a judge says something that is not listed, and when something listed is no longer said.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from tests.fidelity import matrix


class Judge(StrEnum):
    SERVICE_MODEL = "service model"
    CLOUDFORMATION = "cfn-lint"
    INSTANCE_TYPES = "instance type"
    MOTO = "moto"


class Difference(NamedTuple):
    judge: Judge
    parts: tuple[str, ...]
    """Parts of the matrix in which it shows."""
    where: str
    says: str
    reason: str


#: What `test_moto` sends: clusters with all that belongs to them.
WHOLE_CLUSTERS = "whole clusters"
EVERY_PART = (*matrix.PARTS, WHOLE_CLUSTERS)
_NETWORKS = ("surroundings of fleet", "surroundings of instances")
_SINGLE = ("single changes to fleet", "single changes to instances")

DIFFERENCES: tuple[Difference, ...] = (
    Difference(
        Judge.CLOUDFORMATION,
        (*_NETWORKS, *_SINGLE),
        "AWS::EC2::Subnet AvailabilityZone",
        "W3010 Avoid hardcoding availability zones 'us-east-1a'",
        "All nodes must be in one zone, the one where the capacity is: EFA does not cross zones. The user names it.",
    ),
    Difference(
        Judge.CLOUDFORMATION,
        ("p5e.48xlarge",),
        "AWS::EC2::LaunchTemplate LaunchTemplateData.InstanceType",
        "E3628 'p5e.48xlarge' is not one of […] in 'us-east-1'",
        "cfn-lint takes the sizes of a region from AWS's price list. It says that p5e has no price in us-east-1, not "
        "that the name is wrong: the EC2 model has it. A plan makes no look-up, so our checks do not know which region "
        "offers a size; ask with `aws ec2 describe-instance-type-offerings`.",
    ),
    Difference(
        Judge.CLOUDFORMATION,
        _SINGLE,
        "AWS::EC2::LaunchTemplate LaunchTemplateData.BlockDeviceMappings.Ebs.Iops",
        "E3671 80000 is greater than the maximum of 16000",
        "A rule of cfn-lint that is older than gp3's new limit: the registry schema that the same package carries says "
        "3,000 to 80,000 IOPS for gp3, and so does the EBS User Guide since September 2025.",
    ),
    Difference(
        Judge.INSTANCE_TYPES,
        _SINGLE,
        "p5.4xlarge BlockDeviceMappings",
        "80000 IOPS, and the type carries 32500",
        "A volume may have more than its machine carries; the machine's limit then holds (EBS User Guide, "
        "EBS-optimized instances). Our checks know gp3's limits; the catalog does not hold those of the sizes.",
    ),
    Difference(
        Judge.INSTANCE_TYPES,
        _SINGLE,
        "p5.4xlarge BlockDeviceMappings",
        "2000 MiB/s, and the type carries 1250 MB/s",
        "The same for the throughput.",
    ),
    Difference(
        Judge.MOTO,
        (WHOLE_CLUSTERS,),
        "RevokeSecurityGroupIngress",
        "InvalidPermission.NotFound: The specified rule does not exist in this security group",
        "EC2 gives a VPC's default security group a rule for traffic from itself; moto does not. The provider revokes "
        "the rules that it finds.",
    ),
    Difference(
        Judge.MOTO,
        (WHOLE_CLUSTERS,),
        "CreatePlacementGroup",
        "The create_placement_group action has not been implemented",
        "moto has no placement groups. The request is judged by the service model and the registry schema.",
    ),
    Difference(
        Judge.MOTO,
        EVERY_PART,
        "CreateLaunchTemplate LaunchTemplateData.TagSpecifications of others",
        "has 1 items instead of 0",
        "moto adds the template's own tags to those of the instances, volumes and interfaces, which are as sent.",
    ),
    Difference(
        Judge.MOTO,
        (WHOLE_CLUSTERS,),
        "CreateAutoScalingGroup CapacityReservationSpecification",
        "is missing",
        "moto drops it. The request is judged by the service model and the registry schema.",
    ),
    Difference(
        Judge.MOTO,
        (WHOLE_CLUSTERS,),
        "RunInstances NetworkInterfaces",
        "has 1 items instead of 2",
        "moto makes one interface for all that share a device index, so a node is compared by its type and tags only. "
        "The layout is judged where it is sent, in the launch template.",
    ),
)


def listed(judge: Judge, part: str) -> set[tuple[str, str]]:
    """(where, says) of the differences that a judge is expected to find in a part."""
    return {(one.where, one.says) for one in DIFFERENCES if one.judge is judge and part in one.parts}
