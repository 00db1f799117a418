"""moto takes every request of whole clusters and gives back what it was sent, but for the listed differences."""

from __future__ import annotations

import pytest

from tests.components.recorder import Declared, Recording, record_cluster
from tests.fidelity import matrix
from tests.fidelity.compared import lost
from tests.fidelity.differences import WHOLE_CLUSTERS, Judge, listed
from tests.fidelity.in_moto import Account, account, read_back, rules_read, rules_sent

LAUNCH_TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"


#: A fleet reaches the outside through NAT, instances stay inside: each network once with every kind of capacity.
NETWORKS = {"fleet": "nat", "instances": "endpoints"}


@pytest.fixture(scope="module")
def clusters() -> list[Recording]:
    """A cluster of its own name for each kind of capacity and way to declare nodes."""
    settings = [
        case.settings
        for nodes_as, network in NETWORKS.items()
        for case in matrix.surrounding_cases(nodes_as)
        if case.settings["network"] == matrix.NETWORKS[network]
    ]
    return [record_cluster(given, name=f"train{number}") for number, given in enumerate(settings)]


def test_moto_stores_whole_clusters_and_reads_them_back(clusters: list[Recording]) -> None:
    assert len(clusters) == len(matrix.CAPACITIES) * len(matrix.NODES_AS)
    with account(managed_policies=True) as cloud:
        found = {
            difference
            for cluster in clusters
            for differences in (
                cloud.create(cluster.custom),
                *(read_back(cloud, declared) for declared in cluster.custom),
            )
            for difference in differences
        }
        everything = [declared for cluster in clusters for declared in cluster.custom]
        sent = rules_sent(cloud, everything)
        # Also the default security group of each VPC, which is left without any rule.
        for declared in everything:
            if declared.type == "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup":
                sent[cloud.ids[declared.id]] = set()
        assert len(sent) > len(clusters)
        assert rules_read(cloud, sent) == sent
    assert found == listed(Judge.MOTO, WHOLE_CLUSTERS)


def _market(cluster: Recording) -> str | None:
    return cluster.one(LAUNCH_TEMPLATE).inputs.get("instanceMarketOptions", {}).get("marketType")


def _stored(cloud: Account, declared: Declared) -> None:
    assert list(cloud.create([declared])) == []


def test_reading_back_shows_a_launch_template_that_is_not_the_one_sent(clusters: list[Recording]) -> None:
    on_demand, block = (
        next(cluster for cluster in clusters if _market(cluster) == market).one(LAUNCH_TEMPLATE)
        for market in (None, "capacity-block")
    )
    with account() as cloud:
        _stored(cloud, on_demand)
        cloud.ids[block.id] = cloud.ids[on_demand.id]
        found = set(read_back(cloud, block)) - listed(Judge.MOTO, WHOLE_CLUSTERS)
    assert {
        ("CreateLaunchTemplate LaunchTemplateData.InstanceMarketOptions", "is missing"),
        ("CreateLaunchTemplate LaunchTemplateData.CapacityReservationSpecification", "is missing"),
    } <= found


def test_moto_refuses_a_second_template_of_the_same_name_and_a_rule_of_an_unknown_group(
    clusters: list[Recording],
) -> None:
    template = clusters[0].one(LAUNCH_TEMPLATE)
    rule = clusters[0].of_type("aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule")[0]
    with account() as cloud:
        _stored(cloud, template)
        refused = [(what, says.partition(":")[0]) for what, says in cloud.create([template, rule])]
    assert refused == [
        ("CreateLaunchTemplate", "InvalidLaunchTemplateName.AlreadyExistsException"),
        ("AuthorizeSecurityGroupEgress", "InvalidGroup.NotFound"),
    ]


@pytest.mark.parametrize(
    ("sent", "read", "expected"),
    [
        ({"A": 1}, {"A": 1, "B": 2}, []),
        ({"A": {"B": 1}}, {"A": {}}, [("A.B", "is missing")]),
        ({"A": [1, 2]}, {"A": [1]}, [("A", "has 1 items instead of 2")]),
        ({"A": [1]}, {"A": None}, [("A", "has no items instead of 1")]),
        ({"A": [{"B": "x"}]}, {"A": [{"B": "y"}]}, [("A.B", "is 'y' instead of 'x'")]),
        ({"A": True}, {"A": "true"}, [("A", "is 'true' instead of True")]),
    ],
)
def test_what_was_lost_is_told_with_its_place(
    sent: object, read: object, expected: list[tuple[str, str]]
) -> None:
    assert list(lost(sent, read)) == expected
