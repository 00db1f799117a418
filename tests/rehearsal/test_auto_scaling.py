"""Auto Scaling group and launch template: sizes, versions, refreshes, and what goes with the group."""

from __future__ import annotations

from typing import Any

import pytest

from gpu_fabric.rehearsal.core.values import UNKNOWN

from .fabric import FLEET, SUBNET, TEMPLATE, Fabric, p5
from .small_engine import Failed


@pytest.fixture
def fleet(net: Fabric) -> Fabric:
    """Two p5 nodes."""
    net.fleet(net.template(networkInterfaces=p5()), 2)
    return net


def ids(fabric: Fabric) -> list[str]:
    return [each["id"] for each in fabric.nodes()]


def test_the_group_says_where_it_is(fleet):
    group = fleet.cloud.resources["fleet"]
    assert group["arn"].startswith("arn:aws:autoscaling:us-east-1:000000000000:autoScalingGroup:")
    assert group["arn"].endswith(f":autoScalingGroupName/{group.id}")
    assert group["availabilityZones"] == ["us-east-1a"]
    template = fleet.cloud.resources["node"]
    assert group["launchTemplate"] == {"id": template.id, "name": template["name"], "version": "1"}


def test_more_nodes_keep_the_ones_that_run(fleet):
    before = ids(fleet)
    fleet.fleet(fleet.cloud.resources["node"], 4)
    assert ids(fleet)[:2] == before
    assert len(ids(fleet)) == 4


def test_fewer_nodes_free_their_addresses(fleet):
    fleet.fleet(fleet.cloud.resources["node"], 1)
    assert len(fleet.nodes()) == 1
    assert len(fleet.interfaces()) == 33


def test_no_nodes_are_allowed(fleet):
    fleet.fleet(fleet.cloud.resources["node"], 0)
    assert fleet.nodes() == []


def test_deleting_the_group_ends_its_nodes(fleet):
    fleet.cloud.destroy("fleet")
    assert fleet.nodes() == []
    assert fleet.interfaces() == []


def test_a_change_of_the_node_count_replaces_nothing(fleet):
    inputs = fleet.cloud.resources["fleet"].inputs
    plan = fleet.cloud.diff(FLEET, "fleet", {**inputs, "minSize": 3, "maxSize": 3, "desiredCapacity": 3})
    assert (plan.changes, plan.replaces) == (["desiredCapacity", "maxSize", "minSize"], [])


def test_a_new_name_replaces_the_group(fleet):
    plan = fleet.cloud.diff(FLEET, "fleet", {**fleet.cloud.resources["fleet"].inputs, "name": "other"})
    assert plan.replaces == ["name"]


@pytest.mark.parametrize(
    ("sizes", "sentence"),
    [
        (
            {"minSize": 2, "maxSize": 1, "desiredCapacity": 2},
            "Max bound, 1, must be greater than or equal to min bound, 2",
        ),
        (
            {"minSize": 1, "maxSize": 2, "desiredCapacity": 3},
            "Desired capacity:3 must be between the specified min size:1 and max size:2",
        ),
    ],
)
def test_sizes_that_contradict_each_other_are_refused(net, sizes, sentence):
    with pytest.raises(Failed) as failed:
        net.fleet(net.template(networkInterfaces=p5()), 1, name="fleet", **sizes)
    assert failed.value.text == (
        "creating Auto Scaling Group (fleet): operation error Auto Scaling: CreateAutoScalingGroup, https response "
        f"error StatusCode: 400, RequestID: simulated, api error ValidationError: {sentence}"
    )


def test_a_group_name_is_there_once(net):
    template = net.template(networkInterfaces=p5())
    net.fleet(template, 1, "a", name="train")
    with pytest.raises(
        Failed, match="AlreadyExists: AutoScalingGroup by this name already exists - A group with the name"
    ):
        net.fleet(template, 1, "b", name="train")


def test_a_group_needs_exactly_one_way_to_launch(net):
    with pytest.raises(
        Failed, match="only one of `launch_configuration,launch_template,mixed_instances_policy`"
    ):
        net.cloud.preview(FLEET, "fleet", {"minSize": 1, "maxSize": 1, "vpcZoneIdentifiers": [net.subnet.id]})


@pytest.mark.parametrize(("timeout", "fits"), [("10m", True), ("1h30m", True), ("0", True), ("10", False)])
def test_the_capacity_timeout_is_a_duration(net, timeout, fits):
    inputs: dict[str, Any] = {"minSize": 0, "maxSize": 0, "launchTemplate": {"id": net.template().id}}
    inputs |= {"vpcZoneIdentifiers": [net.subnet.id], "waitForCapacityTimeout": timeout}
    if fits:
        net.cloud.preview(FLEET, "fleet", inputs)
    else:
        with pytest.raises(Failed, match='"10" cannot be parsed as a duration'):
            net.cloud.preview(FLEET, "fleet", inputs)


def test_a_template_or_a_version_that_is_not_there_is_refused(net):
    template = net.template(networkInterfaces=p5())
    with pytest.raises(
        Failed, match=f"Could not find the specified version 2 for the launch template with ID {template.id}"
    ):
        net.fleet(template, 1, launchTemplate={"id": template.id, "version": "2"})
    with pytest.raises(
        Failed, match=r"The specified launch template, with template ID lt-0, does not exist\.$"
    ):
        net.fleet(template, 1, launchTemplate={"id": "lt-0"})


def test_nodes_are_spread_over_the_group_s_subnets(net):
    other = net.cloud.up(
        SUBNET, "b", vpcId=net.vpc.id, cidrBlock="10.100.2.0/24", availabilityZone="us-east-1b"
    )
    net.fleet(net.template(networkInterfaces=p5()), 3, vpcZoneIdentifiers=[net.subnet.id, other.id])
    assert [each["availabilityZone"] for each in net.nodes()] == ["us-east-1a", "us-east-1a", "us-east-1b"]


def test_nodes_carry_the_template_s_tags_and_those_that_propagate(net):
    template = net.template(
        networkInterfaces=p5(), tagSpecifications=[{"resourceType": "instance", "tags": {"Name": "node"}}]
    )
    tags = [
        {"key": "team", "value": "llm", "propagateAtLaunch": True},
        {"key": "group", "value": "only", "propagateAtLaunch": False},
    ]
    net.fleet(template, 1, tags=tags)
    assert net.nodes()[0]["tags"] == {"Name": "node", "team": "llm"}


# Versions


def test_a_change_of_the_template_makes_a_version_and_touches_no_node(fleet):
    before = ids(fleet)
    template = fleet.template(networkInterfaces=p5(), userData="IyEvYmluL3No")
    assert (template["latestVersion"], template["defaultVersion"]) == (2, 1)
    fleet.fleet(template, 2)
    assert ids(fleet) == before
    fleet.fleet(template, 3)
    assert [each["launchTemplateVersion"] for each in fleet.nodes()] == ["1", "1", "2"]


def test_scaling_in_ends_nodes_of_the_older_version_first(fleet):
    old = ids(fleet)
    template = fleet.template(networkInterfaces=p5(), userData="IyEvYmluL3No")
    fleet.fleet(template, 3)
    fleet.fleet(template, 1)
    assert not set(ids(fleet)) & set(old)


def test_an_instance_refresh_renews_every_node(net):
    refresh = {"strategy": "Rolling", "preferences": {"minHealthyPercentage": 0}}
    net.fleet(net.template(networkInterfaces=p5()), 2, instanceRefresh=refresh)
    before = ids(net)
    net.fleet(net.template(networkInterfaces=p5(), userData="IyEvYmluL3No"), 2, instanceRefresh=refresh)
    assert not set(ids(net)) & set(before)
    assert [each["launchTemplateVersion"] for each in net.nodes()] == ["2", "2"]


def test_a_preview_of_a_changed_template_does_not_know_the_new_version(net):
    template = net.template(networkInterfaces=p5())
    planned = net.cloud.preview(TEMPLATE, "node", {**template.inputs, "userData": "IyEvYmluL3No"})
    assert planned["latestVersion"] is UNKNOWN
    assert planned["defaultVersion"] == 1
    described = net.cloud.preview(TEMPLATE, "node", {**template.inputs, "description": "other words"})
    assert described["latestVersion"] == 1


def test_update_default_version_follows_the_latest(net):
    net.template(updateDefaultVersion=True)
    template = net.template(updateDefaultVersion=True, keyName="me")
    assert (template["latestVersion"], template["defaultVersion"]) == (2, 2)


def test_a_tag_makes_no_version(net):
    net.template()
    assert net.template(tags={"Name": "node"})["latestVersion"] == 1


def test_a_new_template_name_replaces_it(net):
    template = net.template()
    assert net.cloud.diff(TEMPLATE, "node", {**template.inputs, "name": "other"}).replaces == ["name"]


def test_a_deleted_template_takes_its_versions_along(net):
    net.template()
    net.template(keyName="me")
    net.cloud.destroy("node")
    assert "launchTemplateVersion" not in net.cloud.held()


def test_a_market_that_ec2_does_not_have_is_refused_in_the_preview(net):
    with pytest.raises(Failed, match="expected market_type to be one of"):
        net.cloud.preview(TEMPLATE, "node", {"instanceMarketOptions": {"marketType": "auction"}})


def test_a_thousand_nodes_take_seconds_not_minutes(net):
    wide = net.cloud.up(
        SUBNET, "wide", vpcId=net.vpc.id, cidrBlock="10.100.16.0/20", availabilityZone="us-east-1a"
    )
    net.fleet(net.template(networkInterfaces=p5()), 1000, vpcZoneIdentifiers=[wide.id])
    assert net.cloud.store.count("aws", "aws:ec2/instance:Instance") == 1000
