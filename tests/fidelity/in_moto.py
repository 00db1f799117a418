"""Requests sent to moto, a third party's model of the services that keeps state, and read back from it.

moto makes up its own ids. Each id of a recording is replaced by the one that moto gave the same resource, so that a
later request names what an earlier one made.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError
from moto import mock_aws

from tests.components.recorder import REGION, Declared
from tests.fidelity.compared import lost
from tests.fidelity.to_api import Request, requests_of

#: Operation → where its answer holds the new resource's id.
_NEW_ID: Mapping[str, Callable[[Any], str]] = {
    "AllocateAddress": lambda answer: answer["AllocationId"],
    "CreateInternetGateway": lambda answer: answer["InternetGateway"]["InternetGatewayId"],
    "CreateLaunchTemplate": lambda answer: answer["LaunchTemplate"]["LaunchTemplateId"],
    "CreateNatGateway": lambda answer: answer["NatGateway"]["NatGatewayId"],
    "CreateRouteTable": lambda answer: answer["RouteTable"]["RouteTableId"],
    "CreateSecurityGroup": lambda answer: answer["GroupId"],
    "CreateSubnet": lambda answer: answer["Subnet"]["SubnetId"],
    "CreateVpc": lambda answer: answer["Vpc"]["VpcId"],
    "CreateVpcEndpoint": lambda answer: answer["VpcEndpoint"]["VpcEndpointId"],
    "RunInstances": lambda answer: answer["Instances"][0]["InstanceId"],
}


@functools.cache
def _client(service: str) -> Any:
    # Made once: reading EC2's model takes longer than a hundred requests. One try: what moto refuses stays refused.
    return boto3.client(
        service,
        region_name=REGION,
        aws_access_key_id="testing",
        aws_secret_access_key="testing",
        config=Config(retries={"total_max_attempts": 1}),
    )


@dataclass
class Account:
    """A moto account, and which of its ids stands for which id of the recording."""

    ids: dict[str, str] = field(default_factory=dict)

    def client(self, service: str) -> Any:
        return _client(service)

    def here(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters with moto's ids."""
        text = json.dumps(parameters)
        for recorded, own in self.ids.items():
            text = text.replace(recorded, own)
        return json.loads(text)

    def adopt_default_group(self, declared: Declared) -> None:
        """Let the recording's default security group stand for the one that moto made with the VPC."""
        filters = [
            {"Name": "vpc-id", "Values": [self.ids[declared.inputs["vpcId"]]]},
            {"Name": "group-name", "Values": ["default"]},
        ]
        (group,) = self.client("ec2").describe_security_groups(Filters=filters)["SecurityGroups"]
        self.ids[declared.id] = group["GroupId"]

    def send(self, request: Request) -> Any:
        """The answer. Raises botocore's ClientError, or NotImplementedError where moto has no such operation."""
        parameters = self.here(request.parameters)
        answer = self.client(request.service)._make_api_call(request.operation, parameters)
        new_id = _NEW_ID.get(request.operation)
        if new_id is not None and isinstance(request.source, Declared):
            self.ids[request.source.id] = new_id(answer)
        return answer

    def create(self, resources: Iterable[Declared]) -> Iterator[tuple[str, str]]:
        """Send every request of the resources, in order. Yields (operation, answer) of each that moto refused."""
        for declared in resources:
            if declared.type == "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup":
                self.adopt_default_group(declared)
            for request in requests_of(declared):
                try:
                    self.send(request)
                except ClientError as refused:
                    error = refused.response["Error"]
                    yield request.operation, f"{error['Code']}: {error['Message']}"
                except NotImplementedError as unknown:
                    yield request.operation, str(unknown)


@contextmanager
def account(*, managed_policies: bool = False) -> Generator[Account]:
    """An empty moto account, with AWS's managed policies where asked for; no request leaves the process."""
    with mock_aws(config={"iam": {"load_aws_managed_policies": managed_policies}}):
        yield Account()


def _tags(specifications: list[dict[str, Any]]) -> list[dict[str, str]]:
    return specifications[0]["Tags"]


def _launch_template(account: Account, declared: Declared, sent: dict[str, Any]) -> tuple[Any, Any]:
    ec2 = account.client("ec2")
    own = {"LaunchTemplateId": account.ids[declared.id]}
    (version,) = ec2.describe_launch_template_versions(**own, Versions=["1"])["LaunchTemplateVersions"]
    (template,) = ec2.describe_launch_templates(LaunchTemplateIds=[own["LaunchTemplateId"]])[
        "LaunchTemplates"
    ]
    specifications = version["LaunchTemplateData"]["TagSpecifications"]
    kinds = {one["ResourceType"] for one in sent["LaunchTemplateData"]["TagSpecifications"]}
    own_kinds = [one for one in specifications if one["ResourceType"] in kinds]
    others = [one for one in specifications if one["ResourceType"] not in kinds]
    expected = {
        "LaunchTemplateName": sent["LaunchTemplateName"],
        "LaunchTemplateData": {**sent["LaunchTemplateData"], "TagSpecifications of others": []},
        "Tags": _tags(sent["TagSpecifications"]),
    }
    data = {
        **version["LaunchTemplateData"],
        "TagSpecifications": own_kinds,
        "TagSpecifications of others": others,
    }
    return expected, {**version, "LaunchTemplateData": data, "Tags": template["Tags"]}


def _group(account: Account, declared: Declared, sent: dict[str, Any]) -> tuple[Any, Any]:
    names = [declared.physical_name]
    groups = account.client("autoscaling").describe_auto_scaling_groups(AutoScalingGroupNames=names)
    (group,) = groups["AutoScalingGroups"]
    return sent, group


def _node(account: Account, declared: Declared, sent: dict[str, Any]) -> tuple[Any, Any]:
    ec2 = account.client("ec2")
    (reservation,) = ec2.describe_instances(InstanceIds=[account.ids[declared.id]])["Reservations"]
    (node,) = reservation["Instances"]
    (version,) = ec2.describe_launch_template_versions(
        LaunchTemplateId=sent["LaunchTemplate"]["LaunchTemplateId"],
        Versions=[sent["LaunchTemplate"]["Version"]],
    )["LaunchTemplateVersions"]
    data = version["LaunchTemplateData"]
    expected = {
        "InstanceType": data["InstanceType"],
        "NetworkInterfaces": [{} for _ in data["NetworkInterfaces"]],
        "Tags": _by_key(_tags(sent["TagSpecifications"])),
    }
    # Those of the template are added to a node's own, which win (EC2 API Reference, RunInstances).
    return expected, {**node, "Tags": {key: _by_key(node["Tags"]).get(key) for key in expected["Tags"]}}


def _by_key(tags: Iterable[Mapping[str, str]]) -> dict[str, str]:
    return {tag["Key"]: tag["Value"] for tag in tags}


#: Operation → (what was sent, what moto says when asked), in the same shape.
_READ: Mapping[str, Callable[[Account, Declared, dict[str, Any]], tuple[Any, Any]]] = {
    "CreateAutoScalingGroup": _group,
    "CreateLaunchTemplate": _launch_template,
    "RunInstances": _node,
}


def read_back(account: Account, declared: Declared) -> Iterator[tuple[str, str]]:
    """(operation and place, difference) wherever moto does not say what was sent."""
    request = requests_of(declared)[0]
    read = _READ.get(request.operation)
    if read is not None:
        for where, difference in lost(*read(account, declared, account.here(request.parameters))):
            yield f"{request.operation} {where}", difference


def _rule(direction: str, permission: Mapping[str, Any]) -> Iterator[tuple[Any, ...]]:
    ports = (permission["IpProtocol"], permission.get("FromPort"), permission.get("ToPort"))
    for pair in permission.get("UserIdGroupPairs", []):
        yield (direction, *ports, pair["GroupId"], pair.get("Description"))
    for block in permission.get("IpRanges", []):
        yield (direction, *ports, block["CidrIp"], block.get("Description"))


def rules_sent(account: Account, resources: Iterable[Declared]) -> dict[str, set[tuple[Any, ...]]]:
    """Security group → (direction, protocol, ports, peer, description) of every rule that was asked for."""
    groups: dict[str, set[tuple[Any, ...]]] = {}
    for declared in resources:
        kind = declared.type.rpartition(":")[2]
        if kind == "SecurityGroup":
            groups.setdefault(account.ids[declared.id], set())
        elif kind.startswith("SecurityGroup"):
            (request,) = requests_of(declared)
            parameters = account.here(request.parameters)
            direction = request.operation.removeprefix("AuthorizeSecurityGroup")
            for permission in parameters["IpPermissions"]:
                groups.setdefault(parameters["GroupId"], set()).update(_rule(direction, permission))
    return groups


def rules_read(account: Account, groups: Iterable[str]) -> dict[str, set[tuple[Any, ...]]]:
    """The same of every rule that the groups have."""
    found = account.client("ec2").describe_security_groups(GroupIds=sorted(groups))["SecurityGroups"]
    return {
        group["GroupId"]: {
            rule
            for direction, name in (("Ingress", "IpPermissions"), ("Egress", "IpPermissionsEgress"))
            for permission in group[name]
            for rule in _rule(direction, permission)
        }
        for group in found
    }
