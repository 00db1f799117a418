"""Who a node is to AWS, and how a person gets a shell on it.

Creates: role · managed policy for Systems Manager · inline policy to find its peers · by choice an inline policy to tag
itself · attachments of the user's own policies · instance profile. Creates nothing where an instance profile is given.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

import pulumi
import pulumi_aws as aws

from gpu_fabric.components.aws.regions import partition_of
from gpu_fabric.components.aws.settings import Access
from gpu_fabric.components.aws.tags import tags
from gpu_fabric.components.component import child
from gpu_fabric.nccl.paths import STATE_TAG

#: Reads that the hostfile and the rank order need; none of them can be limited to single resources
#: (Service Authorization Reference, "Actions, resources, and condition keys for Amazon EC2").
FIND_PEERS = (
    "autoscaling:DescribeAutoScalingGroups",
    "ec2:DescribeInstances",
    "ec2:DescribeInstanceTopology",
    "ec2:DescribeTags",
)


def _key(policy: object, number: int) -> str:
    """A stable name for one extra policy: its own, or its place where its ARN is known only after deployment."""
    return policy.rpartition("/")[2] if isinstance(policy, str) else f"extra-{number}"


def _trust(region: str) -> str:
    # The principal's name in China: aws/aws-cdk, packages/aws-cdk-lib/region-info/lib/default.ts.
    service = "ec2.amazonaws.com.cn" if partition_of(region) == "aws-cn" else "ec2.amazonaws.com"
    statement = {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"Service": service}}
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


def _find_peers() -> str:
    statement = {"Effect": "Allow", "Action": list(FIND_PEERS), "Resource": "*"}
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


def _tag_itself(region: str) -> str:
    """The tag with the node's state, on the node's own instance and no other.

    The instance that asks is compared with the instance that is tagged, as in AWS's own AWSEC2VssSnapshotPolicy (AWS
    Managed Policy Reference, v2); the tag's key as in the IAM User Guide,
    reference_policies_examples_iam-add-tag-user-role.html.
    """
    instances = f"arn:{partition_of(region)}:ec2:{region}:*:instance/"
    statement = {
        "Effect": "Allow",
        "Action": "ec2:CreateTags",
        "Resource": f"{instances}*",
        "Condition": {
            "ArnLike": {"ec2:SourceInstanceARN": f"{instances}${{ec2:InstanceId}}"},
            "ForAllValues:StringEquals": {"aws:TagKeys": [STATE_TAG]},
        },
    }
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


class AwsNodeAccess(pulumi.ComponentResource):
    """An instance profile for Session Manager and for finding the cluster's other nodes."""

    instance_profile_name: pulumi.Output[str]
    role_name: pulumi.Output[str] | None
    """None where the profile is the user's own."""
    policies: list[pulumi.Resource]

    def __init__(
        self,
        name: str,
        access: Access,
        *,
        region: str,
        tags_itself: bool = False,
        extra_tags: Mapping[str, str] | None = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """`tags_itself`: whether a node may write its state to a tag of its own instance."""
        super().__init__("gpu-fabric:index:AwsNodeAccess", name, None, opts)
        self.policies = []
        if access.instance_profile_name is not None:
            self.role_name = None
            self.instance_profile_name = pulumi.Output.from_input(access.instance_profile_name)
        else:
            self._create(name, access, region, tags_itself, extra_tags or {})
        self.register_outputs(
            {"instance_profile_name": self.instance_profile_name, "role_name": self.role_name}
        )

    def _create(
        self, name: str, access: Access, region: str, tags_itself: bool, extra_tags: Mapping[str, str]
    ) -> None:
        role = aws.iam.Role(
            f"{name}-node",
            assume_role_policy=_trust(region),
            description="Nodes of a GPU cluster",
            tags=tags(f"{name}-node", extra_tags),
            opts=child(self),
        )
        managed = f"arn:{partition_of(region)}:iam::aws:policy/AmazonSSMManagedInstanceCore"
        self.policies = [
            aws.iam.RolePolicyAttachment(
                f"{name}-session-manager", role=role.name, policy_arn=managed, opts=child(self)
            ),
            aws.iam.RolePolicy(f"{name}-find-peers", role=role.name, policy=_find_peers(), opts=child(self)),
        ]
        if tags_itself:
            self.policies.append(
                aws.iam.RolePolicy(
                    f"{name}-state-tag", role=role.name, policy=_tag_itself(region), opts=child(self)
                )
            )
        self.policies += [
            aws.iam.RolePolicyAttachment(
                f"{name}-{_key(policy, number)}", role=role.name, policy_arn=policy, opts=child(self)
            )
            for number, policy in enumerate(access.extra_policy_arns)
        ]
        profile = aws.iam.InstanceProfile(
            f"{name}-node", role=role.name, tags=tags(f"{name}-node", extra_tags), opts=child(self)
        )
        self.role_name, self.instance_profile_name = role.name, profile.name
