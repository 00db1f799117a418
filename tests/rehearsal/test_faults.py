"""Faults on request, and the database that outlives a provider."""

from __future__ import annotations

import threading
import time

import pytest

from gpu_fabric.rehearsal.core.errors import ProviderError
from gpu_fabric.rehearsal.core.faults import load
from gpu_fabric.rehearsal.core.store import Store

from .small_engine import Failed, SmallEngine

VPC = "aws:ec2/vpc:Vpc"
RANGE = {"cidrBlock": "10.0.0.0/16"}


def test_a_throttled_call_is_tried_again_as_often_as_the_provider_does(aws, faults):
    faults(throttle=[{"type": VPC, "operation": "create", "first": 25}])
    aws.up(VPC, "net", RANGE)
    assert ("debug", f"{VPC}: tried again 25 times after RequestLimitExceeded") in aws.logs


def test_one_refusal_more_and_the_user_sees_it(aws, faults):
    faults(throttle=[{"type": VPC, "operation": "create", "first": 26}])
    with pytest.raises(Failed) as failed:
        aws.up(VPC, "net", RANGE)
    assert failed.value.text == (
        "creating EC2 VPC: operation error EC2: CreateVpc, https response error StatusCode: 503, RequestID: simulated, "
        "api error RequestLimitExceeded: Request limit exceeded."
    )
    assert aws.held() == []
    aws.up(VPC, "net", RANGE)


def test_the_provider_s_own_number_of_retries_counts(tmp_path, faults):
    faults(throttle=[{"first": 3}])
    cloud = SmallEngine("aws", tmp_path / "clouds.db", region="us-east-1", maxRetries=2)
    with pytest.raises(Failed, match="RequestLimitExceeded"):
        cloud.up(VPC, "net", RANGE)


def test_a_failure_before_leaves_nothing(aws, faults):
    faults(fail=[{"type": VPC, "code": "Unavailable", "message": "The service is unavailable."}])
    with pytest.raises(Failed, match=r"api error Unavailable: The service is unavailable\.$"):
        aws.up(VPC, "net", RANGE)
    assert aws.held() == []
    aws.up(VPC, "net", RANGE)


def test_a_failure_after_leaves_an_object_the_engine_does_not_know(aws, faults):
    faults(fail=[{"type": VPC, "when": "after"}])
    with pytest.raises(Failed) as failed:
        aws.up(VPC, "net", RANGE)
    assert failed.value.partial == ()
    assert VPC in aws.held()


def test_a_partial_failure_tells_the_id_and_an_update_heals_it(aws, faults):
    faults(fail=[{"type": VPC, "when": "partial"}])
    with pytest.raises(Failed) as failed:
        aws.up(VPC, "net", RANGE)
    aws.resources["net"] = aws.known_from(failed.value, VPC, "net")
    aws.update("net")
    aws.destroy("net")
    assert aws.held() == []


def test_a_delete_whose_answer_is_lost_succeeds_the_second_time(aws, faults):
    aws.up(VPC, "net", RANGE)
    faults(fail=[{"type": VPC, "operation": "delete", "when": "after"}])
    with pytest.raises(Failed, match="deleting EC2 VPC"):
        aws.destroy("net")
    aws.destroy("net")


def test_a_name_chooses_one_resource_of_a_type(aws, faults):
    faults(fail=[{"type": VPC, "name": "second"}])
    aws.up(VPC, "first", RANGE)
    with pytest.raises(Failed):
        aws.up(VPC, "second", RANGE)


def test_a_delayed_call_takes_longer_and_holds_nobody_else_up(aws, faults):
    faults(delay=[{"type": VPC, "name": "slow", "seconds": 0.6}])
    begin = time.monotonic()
    slow = threading.Thread(target=aws.up, args=(VPC, "slow", RANGE))
    slow.start()
    aws.up(VPC, "quick", RANGE)
    quick = time.monotonic() - begin
    slow.join()
    assert quick < 0.5 < time.monotonic() - begin


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "the faults file cannot be read"),
        ("[]", "expected an object with some of capacity, throttle, delay, fail"),
        ('{"capacities": []}', "capacities: not a kind of fault; there are capacity, throttle, delay, fail"),
        ('{"fail": {}}', "fail: expected a list"),
        ('{"fail": [{"typ": "x"}]}', r"fail\[0\]\.typ: not known here; there are type, operation"),
        ('{"throttle": [{}]}', r"throttle\[0\]: missing 1 required positional argument: 'first'"),
        ('{"fail": [{"when": "during"}]}', r"fail\[0\]\.when: 'during' is none of before, after, partial"),
        (
            '{"delay": [{"seconds": 1, "operation": "make"}]}',
            r"delay\[0\]\.operation: 'make' is none of check, create",
        ),
    ],
)
def test_a_misspelt_switch_is_an_error(tmp_path, text, message):
    path = tmp_path / "faults.json"
    path.write_text(text)
    with pytest.raises(ProviderError, match=message):
        load(path)


def test_no_file_is_a_good_day(tmp_path):
    assert load(tmp_path / "faults.json") == load("")


# The database


def test_a_second_provider_process_finds_what_the_first_made(aws, tmp_path):
    made = aws.up(VPC, "net", RANGE)
    other = SmallEngine("aws", tmp_path / "clouds.db", region="us-east-1")
    adopted = other.adopt(VPC, made.id)
    assert adopted is not None and adopted["cidrBlock"] == "10.0.0.0/16"


def test_a_refused_call_leaves_no_trace_but_its_line_in_the_journal(aws):
    net = aws.up(VPC, "net", RANGE)
    with pytest.raises(Failed):
        aws.up(
            "aws:ec2/securityGroup:SecurityGroup",
            "efa",
            vpcId=net.id,
            ingress=[{"protocol": "-1", "fromPort": 0, "toPort": 0, "securityGroups": ["sg-0"]}],
        )
    assert aws.store.count("aws", "aws:ec2/securityGroup:SecurityGroup") == 1, "only the default group"
    assert [(each["operation"], each["name"], each["outcome"]) for each in aws.store.journal()] == [
        ("create", "net", "done"),
        ("create", "efa", "InvalidGroup.NotFound"),
    ]


def test_calls_from_many_threads_each_get_ids_and_addresses_of_their_own(net):
    interface = "aws:ec2/networkInterface:NetworkInterface"

    def make(number: int) -> None:
        net.cloud.up(interface, f"eni-{number}", subnetId=net.subnet.id)

    threads = [threading.Thread(target=make, args=(number,)) for number in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({each["id"] for each in net.interfaces()}) == 24
    assert len({each["privateIp"] for each in net.interfaces()}) == 24


def test_an_emptied_database_counts_from_the_beginning(aws, tmp_path):
    first = aws.up(VPC, "net", RANGE).id
    Store(tmp_path / "clouds.db").forget()
    assert aws.held() == []
    assert SmallEngine("aws", tmp_path / "clouds.db", region="us-east-1").up(VPC, "net", RANGE).id == first


def test_drift_shows_in_a_refresh(aws, tmp_path):
    made = aws.up(VPC, "net", {**RANGE, "tags": {"Name": "net"}})
    with Store(tmp_path / "clouds.db").transaction("aws") as tx:
        tx.patch(VPC, made.id, tags={"Name": "somebody's"}, enableDnsSupport=False)
    aws.refresh("net")
    plan = aws.diff(VPC, "net", {**RANGE, "tags": {"Name": "net"}})
    assert plan.detailed == {"enableDnsSupport": "UPDATE", "tags.Name": "UPDATE"}


def test_an_object_lost_behind_pulumi_s_back_is_gone_in_a_refresh(aws, tmp_path):
    made = aws.up(VPC, "net", RANGE)
    with Store(tmp_path / "clouds.db").transaction("aws") as tx:
        tx.remove(VPC, made.id)
    with pytest.raises(Failed, match="couldn't find resource: it was removed outside of this program"):
        aws.up(VPC, "net", {**RANGE, "tags": {"Name": "net"}})
    assert aws.refresh("net") is None
