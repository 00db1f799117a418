"""The Azure part of docs/fidelity.md, from the tables of the tests.

`python -m tests.fidelity.azure.page` writes it between its two marks; a test holds the page to it.
"""

from __future__ import annotations

from importlib.metadata import version

from tests.fidelity.azure import matrix, sdk_models
from tests.fidelity.azure.differences import DIFFERENCES, EVERY_PART, OTHER_VERSIONS
from tests.fidelity.azure.to_arm import NOT_SENT, RESOURCES
from tests.fidelity.markdown import PAGE, table, with_part

BEGIN = "<!-- Azure: written by `python -m tests.fidelity.azure.page` -->"
END = "<!-- Azure: end -->"

#: The distributions that have the models, by the package's third part.
_DISTRIBUTIONS = {
    name: f"azure-mgmt-{name}" for name in ("authorization", "compute", "msi", "network", "resource")
}


def _judges() -> list[tuple[str, ...]]:
    return [
        (
            "the Azure SDK's models of the services",
            "every body",
            "names and places of properties, to the letter; what is required, what is read-only; strict types; "
            "enumerations, to the letter; lengths, patterns and bounds",
        ),
        (
            "the documentation in the same models",
            "every body",
            "what the specification demands in words only: the longest names, custom data and descriptions, reserved "
            "user names, ports and priorities, the size of a disk, the nodes of a single placement group",
        ),
        (
            "the SDK's functions that build a request",
            "every path",
            "the id that our resources are known by is the operation's path, step by step; the path's parameters are "
            "within their limits; the API version",
        ),
        (
            "the SDK's own serializer",
            "every body",
            "it reads the body into its models and would send the very same",
        ),
    ]


def _versions() -> list[tuple[str, ...]]:
    rows = []
    for type_ in RESOURCES:
        distribution = _DISTRIBUTIONS[sdk_models.OPERATIONS[type_].package.split(".")[2]]
        judged = sdk_models.api_version(type_)
        other = OTHER_VERSIONS.get(type_)
        rows.append(
            (
                f"`{type_.removeprefix('azure-native:')}`",
                other.provider if other else judged,
                judged,
                f"{distribution} {version(distribution)}",
                other.reason if other else "",
            )
        )
    return rows


def _matrix() -> list[tuple[str, ...]]:
    changes = {**matrix.CHANGES, **matrix.CHANGES_OF_A_FLEET}
    parts = {
        f"one for each of the {len(matrix.sizes())} sizes": (
            [name for name in matrix.PARTS if name in matrix.sizes()],
            "on demand and spot as a fleet, on demand as instances",
        ),
        "surroundings": (
            [name for name in matrix.PARTS if name.startswith("surroundings")],
            f"every network ({'; '.join(matrix.NETWORKS)}) and every placement "
            f"({'; '.join([*matrix.PLACEMENTS, *matrix.PLACEMENTS_IN_A_ZONE])}), × fleet and instances; a zone with "
            "fleets only",
        ),
        "changes": (
            [name for name in matrix.PARTS if name.startswith("changes")],
            f"{'; '.join(changes)}; × fleet and instances where both have it",
        ),
        "the private link": (
            ["the private link"],
            "; ".join(title.removeprefix("link, ") for title in matrix.LINKS),
        ),
    }
    return [
        (title, what, str(sum(len(matrix.PARTS[name]()) for name in names)))
        for title, (names, what) in parts.items()
    ]


def _shown_in(parts: tuple[str, ...]) -> str:
    return "everywhere" if parts == EVERY_PART else ", ".join(parts)


def azure_part() -> str:
    """The Markdown between the two marks."""
    cases = sum(len(cases()) for cases in matrix.PARTS.values())
    lines = [
        "## Azure",
        "",
        f"What `AzureGpuCluster`, and on Azure `CrossCloudInterconnect`, register is recorded for {cases} settings,",
        "translated into requests of Azure Resource Manager, and judged by the Azure SDK for Python. Its models are",
        "made from the services' published specifications, one set for each API version. `tests/fidelity/azure/` holds",
        "the tables; a property that they do not translate fails the tests, and one that they put in a wrong place is",
        "unknown to the models.",
        "",
        "### Who judges what",
        "",
        *table(("judge", "judges", "for"), _judges()),
        "Each judge is shown to refuse, and to accept what is just at the limit",
        "(`tests/fidelity/azure/test_judge.py`).",
        "",
        "### By which API version",
        "",
        "The provider's version is what pulumi-azure-native's SDK says of the type; a test reads it there.",
        "",
        *table(("type", "the provider sends", "judged by", "of", "why another"), _versions()),
        "### What is asked",
        "",
        *table(("part", "settings", "number"), _matrix()),
        "### What nobody judges here",
        "",
        "- Whether Azure allocates the nodes, offers the size in the region, and has the quota.",
        "- Whether the image is in the region's marketplace, and whether it takes trusted launch.",
        "- What excludes what: the specification has few rules across properties. The simulated Azure of `rehearsal/`",
        "  has them, from documentation; nobody else's model does.",
        "- What the provider makes of a property. The tables say that it keeps the SDK's names and puts them where the",
        "  service's model has them; only a run against an account shows it.",
        "- What happens on a change: only creations are judged.",
        "- Whether Azure takes an enumeration's value in other letters. It often does; here it must be to the letter.",
        "- InfiniBand between the nodes, and the partition key.",
        "",
        "### What is not sent to Azure",
        "",
        *table(("type", "why"), [(f"`{name}`", why) for name, why in NOT_SENT.items()]),
        "### Differences",
        "",
        "A test fails when a judge says something that is not here, and when something here is no longer said.",
        "",
        *table(
            ("where", "says", "in", "why the request stays as it is"),
            [(f"`{one.where}`", one.says, _shown_in(one.parts), one.reason) for one in DIFFERENCES],
        ),
    ]
    return "\n".join(lines)


def with_azure_part(page: str) -> str:
    """The page with its Azure part written anew. Raises ValueError where a mark is missing."""
    return with_part(page, "Azure", BEGIN, END, azure_part())


if __name__ == "__main__":
    PAGE.write_text(with_azure_part(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
