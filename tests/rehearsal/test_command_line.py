"""python -m gpu_fabric.rehearsal: plugin scripts, what the clouds hold, drift, what was there before."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from gpu_fabric.rehearsal.__main__ import main
from gpu_fabric.rehearsal.core.store import Store

from .small_engine import SmallEngine

VPC = "aws:ec2/vpc:Vpc"
BLOCK = "aws:ec2/capacityBlockReservation:CapacityBlockReservation"


def run(database: Path, *arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(main, ["--database", str(database), *arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.output


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "clouds.db"


@pytest.fixture
def net(aws: SmallEngine) -> str:
    """The id of a VPC that a program made."""
    return aws.up(VPC, "net", cidrBlock="10.0.0.0/16", tags={"Name": "train"}).id


def test_show_lists_what_there_is(database, net):
    code, output = run(database, "show")
    assert code == 0
    assert f"{VPC:<48} {net:<24} train" in output.splitlines()


def test_show_names_an_auto_scaling_group_whose_tags_are_a_list_and_cuts_a_long_kind(database, aws):
    for number in range(9):
        aws.up(VPC, f"net-{number}", cidrBlock="10.0.0.0/16", tags={"Name": "train"})
    with Store(database).transaction("aws") as held:
        held.put("aws:autoscaling/group:Group", "fleet-1", {"tags": [{"key": "Name", "value": "fleet"}]})
    code, output = run(database, "show")
    assert code == 0
    assert f"{'aws:autoscaling/group:Group':<48} {'fleet-1':<24} fleet" in output.splitlines()
    assert output.count(f"{VPC:<48} vpc-") == 8
    assert f"{VPC:<48} … and 1 more (--json has all)" in output.splitlines()


def test_show_says_when_there_is_nothing(database, aws):
    assert run(database, "show") == (0, "The simulated clouds are empty.\n")


def test_a_database_that_is_not_there_is_no_empty_cloud(tmp_path):
    code, output = run(tmp_path / "other.db", "show")
    assert code == 2
    assert "no such database: nothing has been simulated yet" in output


def test_the_journal_tells_the_order(database, net):
    _, output = run(database, "journal", "--json")
    assert [(each["operation"], each["name"]) for each in json.loads(output)] == [("create", "net")]


def test_drift_changes_one_property_and_says_what_it_was(database, net, aws):
    code, output = run(database, "drift", VPC, net, "tags.Name", "mine")
    assert (code, output) == (0, f'{VPC} {net}: tags.Name was "train", is "mine"\n')
    assert aws.adopt(VPC, net)["tags"] == {"Name": "mine"}


def test_drift_reaches_into_a_list(database, net, aws):
    subnets = [{"id": "a"}, {"id": "b"}]
    aws.up("aws:ec2/routeTable:RouteTable", "routes", vpcId=net, routes=[])
    table = aws.resources["routes"].id
    with Store(database).transaction("aws") as held:
        held.put("aws:ec2/routeTable:RouteTable", table, {"id": table, "routes": subnets})
    assert run(database, "drift", "aws:ec2/routeTable:RouteTable", table, "routes.1.id", "c")[0] == 0
    assert aws.adopt("aws:ec2/routeTable:RouteTable", table)["routes"] == [{"id": "a"}, {"id": "c"}]


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("cidrBlock.foo", 'cidrBlock is "10.0.0.0/16": there is no foo inside it'),
        ("cidrBlock.foo.bar", 'cidrBlock is "10.0.0.0/16": there is no foo inside it'),
        ("tags.Name.0", 'tags.Name is "train": there is no 0 inside it'),
        ("list.2", "list is a list of 1: 2 is not a place in it, counted from 0"),
        ("list.x.y", "list is a list of 1: x is not a place in it, counted from 0"),
    ],
)
def test_drift_along_a_path_that_leads_nowhere_is_refused(database, net, path, message):
    assert run(database, "drift", VPC, net, "list", "[1]")[0] == 0
    code, output = run(database, "drift", VPC, net, path, "x")
    assert code == 2
    assert message in output


def test_drift_makes_the_map_that_is_not_there(database, net):
    assert run(database, "drift", VPC, net, "more.deep", "1")[1] == f"{VPC} {net}: more.deep was null, is 1\n"


def test_drift_of_what_is_not_there_lists_what_is(database, net):
    code, output = run(database, "drift", VPC, "vpc-0", "tags.Name", "mine")
    assert code == 2
    assert f"not there; of that type the simulated cloud holds {net}" in output


def test_an_object_can_be_lost(database, net, aws):
    assert run(database, "lose", VPC, net)[0] == 0
    assert aws.adopt(VPC, net) is None
    assert run(database, "lose", VPC, net)[0] == 2


def test_a_lost_vpc_takes_with_it_what_the_cloud_made_along(database, net, aws):
    assert run(database, "lose", VPC, net)[0] == 0
    assert aws.held() == []


def test_a_lost_vpc_that_others_need_goes_alone(database, net, aws):
    aws.up("aws:ec2/subnet:Subnet", "sub", vpcId=net, cidrBlock="10.0.0.0/24")
    assert run(database, "lose", VPC, net)[0] == 0
    assert aws.adopt(VPC, net) is None
    assert "aws:ec2/subnet:Subnet" in aws.held()


@pytest.mark.parametrize("kind", ["gcp:x:Y", "aws:s3/bucket:Bucket", "nonsense"])
def test_what_no_cloud_knows_cannot_be_lost(database, net, kind):
    code, output = run(database, "lose", kind, "x")
    assert code == 2
    assert f"{kind} x: not there" in output


def test_forget_empties_everything(database, net):
    assert run(database, "forget")[0] == 0
    assert run(database, "show")[1] == "The simulated clouds are empty.\n"


def test_a_vpc_can_be_there_before_the_program_with_an_id_of_its_own(database, aws):
    code, output = run(database, "hold", VPC, '{"cidrBlock": "10.0.0.0/16"}', "--id", "vpc-0aaaaaaaaaaaaaaaa")
    assert (code, output) == (0, "vpc-0aaaaaaaaaaaaaaaa\n")
    adopted = aws.adopt(VPC, "vpc-0aaaaaaaaaaaaaaaa")
    assert adopted["arn"].endswith("vpc/vpc-0aaaaaaaaaaaaaaaa")
    group = aws.adopt("aws:ec2/securityGroup:SecurityGroup", adopted["defaultSecurityGroupId"])
    assert group["vpcId"] == "vpc-0aaaaaaaaaaaaaaaa"


def test_a_capacity_block_bought_elsewhere_is_stored_as_it_is(database, aws):
    block = {"instanceType": "p5.48xlarge", "instanceCount": 2, "availabilityZone": "us-east-1a"}
    block |= {"reservationType": "capacity-block"}
    code, _ = run(database, "hold", BLOCK, json.dumps(block), "--id", "cr-0123456789abcdef0", "--raw")
    assert code == 0
    assert aws.adopt(BLOCK, "cr-0123456789abcdef0")["instanceCount"] == 2


@pytest.mark.parametrize(
    ("kind", "properties", "message"),
    [
        (VPC, "{", "PROPERTIES is no JSON"),
        (
            VPC,
            '{"cidr": "10.0.0.0/16"}',
            'cidr: Unsupported argument. An argument named "cidr" is not expected here',
        ),
        (VPC, "[]", "PROPERTIES is []; give a JSON object"),
        (VPC, "null", "PROPERTIES is null; give a JSON object"),
        (VPC, '"x"', 'PROPERTIES is "x"; give a JSON object'),
        (VPC, '{"cidrBlock": 5}', "cidrBlock: "),
        (VPC, '{"cidrBlock": []}', "cidrBlock: "),
        (VPC, '{"cidrBlock": "10.0.0.0/16", "tags": "x"}', "tags: "),
        (VPC, '{"cidrBlock": "127.0.0.0/16"}', "The CIDR '127.0.0.0/16' is invalid."),
        (VPC, "{}", "cidrBlock: one of cidrBlock or ipv4IpamPoolId"),
        ("aws:s3/bucket:Bucket", "{}", "does not know the resource type aws:s3/bucket:Bucket"),
        ("gcp:x:Y", "{}", "no simulated cloud has such a type; there are aws"),
    ],
)
def test_what_cannot_exist_is_refused_with_the_reason(database, kind, properties, message):
    code, output = run(database, "hold", kind, properties)
    assert code != 0
    assert message in output


def test_types_lists_resources_and_look_ups(database):
    _, output = run(database, "types", "aws")
    assert VPC in output.splitlines()
    assert "aws:ssm/getParameter:getParameter" in output.splitlines()


def test_the_plugin_scripts_work_from_any_folder(tmp_path):
    folder = tmp_path / "a folder with spaces"
    result = CliRunner().invoke(main, ["plugins", str(folder), "--python", sys.executable])
    assert result.exit_code == 0
    script = folder / "pulumi-resource-aws"
    assert str(script) in result.output.splitlines()
    assert os.access(script, os.X_OK)
    process = subprocess.Popen(
        [script], stdout=subprocess.PIPE, text=True, cwd="/", env={"PATH": "/usr/bin:/bin"}
    )
    assert process.stdout is not None
    assert process.stdout.readline().strip().isdigit()
    process.terminate()
    process.communicate(timeout=10)


def test_the_language_host_is_left_out_where_pulumi_has_its_own(tmp_path):
    CliRunner().invoke(main, ["plugins", str(tmp_path), "--without-language-host"])
    names = {each.name for each in tmp_path.iterdir()}
    assert "pulumi-resource-aws" in names
    assert "pulumi-language-python" not in names


def test_an_offered_connection_waits_to_be_accepted(database: Path, net: str) -> None:
    assert run(database, "offer", "310", "--id", "dxcon-0000000a") == (0, "dxcon-0000000a\n")
    held = json.loads(run(database, "show", "--json")[1])
    (connection,) = [each for each in held if each["kind"] == "aws:directconnect/connection:Connection"]
    assert connection["id"] == "dxcon-0000000a"
    code, said = run(database, "offer", "310", "--bandwidth", "3Gbps")
    assert code == 1
    assert "AWS has no hosted connection of 3Gbps; there are" in said
