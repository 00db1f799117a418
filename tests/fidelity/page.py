"""The AWS part of docs/fidelity.md, from the tables of the tests.

`python -m tests.fidelity.page` writes it between its two marks; a test holds the page to it. Other parts of the page
are their own authors'.
"""

from __future__ import annotations

from importlib.metadata import version

from tests.fidelity import matrix
from tests.fidelity.differences import DIFFERENCES, EVERY_PART, WHOLE_CLUSTERS
from tests.fidelity.markdown import PAGE, table, with_part
from tests.fidelity.to_api import RESOURCES, not_sent
from tests.fidelity.to_cloudformation import NOT_IN_CLOUDFORMATION, not_declared

BEGIN = "<!-- AWS: written by `python -m tests.fidelity.page` -->"
END = "<!-- AWS: end -->"


def _judges() -> list[tuple[str, ...]]:
    return [
        (
            f"botocore {version('botocore')}: AWS's own models of the EC2, Auto Scaling, IAM and EKS APIs",
            "every request",
            "names, types, required members and lower limits, as botocore checks before it sends; beyond that, from "
            "the same models: enumerations, upper limits, patterns, and the values that a member's documentation "
            "lists where there is no enumeration (the interface type is such a one)",
        ),
        (
            f"cfn-lint {version('cfn-lint')}: CloudFormation's registry schemas of us-east-1, and its own rules on top",
            "every resource that CloudFormation has, and four whole stacks",
            "names, strict types, enumerations, patterns, what is required and what excludes each other; the form of "
            "ids and ARNs; the grammar of IAM policies; subnets that overlap; sizes that the region sells",
        ),
        (
            f"EC2's DescribeInstanceTypes, as recorded by moto {version('moto')}",
            "every launch template",
            "the network card exists and takes that type of interface; device index and interfaces a card; number of "
            "EFA interfaces; the market type; IOPS and throughput that the size carries",
        ),
        (
            f"moto {version('moto')}, a simulated AWS of others",
            "every launch template; whole clusters with new networks",
            "it takes every request, in order, by its own ids; launch template, Auto Scaling group and nodes are read "
            "back and compared; the rules of every security group are exactly those that were asked for",
        ),
    ]


def _matrix() -> list[tuple[str, ...]]:
    parts = {
        "one for each of the " + str(len(matrix.sizes())) + " sizes": (
            [name for name in matrix.PARTS if name in matrix.sizes()],
            "every interface layout of the size × every kind of capacity it is sold as, as a fleet; every layout as "
            "instances",
        ),
        "surroundings": (
            [name for name in matrix.PARTS if name.startswith("surroundings")],
            "every network (NAT, endpoints, adopted and looked up, adopted with its security groups) × capacity, and "
            "every placement × capacity, × fleet and instances",
        ),
        "single changes": (
            [name for name in matrix.PARTS if name.startswith("single")],
            f"{', '.join(matrix.SINGLE)}; × fleet and instances",
        ),
    }
    return [
        (title, what, str(sum(len(matrix.PARTS[name]()) for name in names)))
        for title, (names, what) in parts.items()
    ]


def _shown_in(parts: tuple[str, ...]) -> str:
    return "everywhere" if parts == EVERY_PART else ", ".join(parts)


def aws_part() -> str:
    """The Markdown between the two marks."""
    cases = sum(len(cases()) for cases in matrix.PARTS.values())
    lines = [
        "## AWS",
        "",
        f"What `AwsGpuCluster` registers is recorded for {cases} settings, translated into requests, and judged by",
        "four models that we did not write. `tests/fidelity/` holds the tables; a property that they do not translate",
        "fails the tests.",
        "",
        "### Who judges what",
        "",
        *table(("judge", "judges", "for"), _judges()),
        "Each judge is shown to refuse: a wrong interface type, an unknown parameter, a wrong type, a value out of",
        "range (`tests/fidelity/test_judges.py`, `test_moto.py`). The catalog's rows are compared with the same",
        "DescribeInstanceTypes record, field by field, in [fidelity-catalog.md](fidelity-catalog.md).",
        "",
        "### What is asked",
        "",
        *table(("part", "settings", "number"), _matrix()),
        "Beside these, by all four: the launch template for an EKS node group of every size × layout × capacity, and",
        "the cluster, the roles and the node group of `examples/eks-node-group-with-efa`.",
        "",
        f"`{WHOLE_CLUSTERS}` are those of the surroundings with a new network: fleets with NAT and instances with",
        "endpoints, of every kind of capacity, all in one account of moto.",
        "",
        "### What nobody judges here",
        "",
        "- Whether EC2 launches the nodes. It checks little of a launch template before an instance starts from it",
        "  (EC2 User Guide, launch template restrictions).",
        "- Whether the zone offers the size, the account has the quota, and capacity is there.",
        "- Whether the image exists, and what its root device is.",
        "- Whether the role's permissions are enough. cfn-lint reads the policies' grammar, not what a node calls.",
        "- What the provider makes of a property. The tables state it from the provider's source and documentation;",
        "  only a run against an account shows it.",
        "- What happens on a change: only creations are judged, and the instance refresh of `updates: replace`.",
        "- EFA between the nodes. The self rules of the security group are asserted in `tests/components/`.",
        "",
        "### Properties that a creation does not send",
        "",
        *table(("property", "why"), [(f"`{name}`", why) for name, why in not_sent().items()]),
        "### What CloudFormation does not have",
        "",
        f"{len(RESOURCES) - len(NOT_IN_CLOUDFORMATION)} of {len(RESOURCES)} types have one in the registry.",
        "",
        *table(
            ("type or property", "why"),
            [(f"`{name}`", why) for name, why in {**NOT_IN_CLOUDFORMATION, **not_declared()}.items()],
        ),
        "### Differences",
        "",
        "A test fails when a judge says something that is not here, and when something here is no longer said.",
        "",
        *table(
            ("judge", "where", "says", "in", "why the request stays as it is"),
            [
                (one.judge, f"`{one.where}`", one.says, _shown_in(one.parts), one.reason)
                for one in DIFFERENCES
            ],
        ),
    ]
    return "\n".join(lines)


def with_aws_part(page: str) -> str:
    """The page with its AWS part written anew. Raises ValueError where a mark is missing."""
    return with_part(page, "AWS", BEGIN, END, aws_part())


if __name__ == "__main__":
    PAGE.write_text(with_aws_part(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
