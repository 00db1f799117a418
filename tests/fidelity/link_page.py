"""The private link's part of docs/fidelity.md, from the tables of the tests.

`python -m tests.fidelity.link_page` writes it between its two marks; a test holds the page to it.
"""

from __future__ import annotations

from importlib.metadata import version

from tests.fidelity import test_equinix_requests, test_interconnect_requests
from tests.fidelity.azure import matrix
from tests.fidelity.equinix_models import BODIES
from tests.fidelity.markdown import PAGE, table, with_part

BEGIN = "<!-- link: written by `python -m tests.fidelity.link_page` -->"
END = "<!-- link: end -->"


def _rows() -> list[tuple[str, ...]]:
    aws = test_interconnect_requests
    operations = [operation for _, operation, _ in aws.REQUESTS.values()]
    operations += [operation for rows in aws.AFTERWARDS.values() for _, operation, _ in rows]
    types = [type_.rpartition(":")[2] for type_ in BODIES]
    return [
        (
            "AWS",
            f"botocore {version('botocore')}: AWS's models of Direct Connect and EC2",
            ", ".join(sorted(operations)),
            "; ".join(aws.CASES),
        ),
        (
            "Azure",
            f"azure-mgmt-network {version('azure-mgmt-network')}, as in the part above",
            "circuit, peering, gateway, its address and subnet, connection, resource group, network security rules",
            "; ".join(title.removeprefix("link, ") for title in matrix.LINKS),
        ),
        (
            "Equinix",
            f"equinix {version('equinix')}: Equinix's own SDK, models of Fabric API v4",
            ", ".join(types),
            "; ".join(test_equinix_requests.CASES),
        ),
    ]


def link_part() -> str:
    """The Markdown between the two marks."""
    lines = [
        "## The private link",
        "",
        "What `CrossCloudInterconnect` registers, as requests of three clouds. Each judge is shown to refuse.",
        "",
        *table(("cloud", "judge", "requests", "settings"), _rows()),
        "Equinix's models call the router's `uuid` in a connection read-only, and Equinix's examples give it there.",
        "Megaport has no models of its own for Python: its requests are judged by nobody but the simulated Megaport.",
        "",
    ]
    return "\n".join(lines)


def with_link_part(page: str) -> str:
    """The page with this part written anew. Raises ValueError where a mark is missing."""
    return with_part(page, "link", BEGIN, END, link_part())


if __name__ == "__main__":
    PAGE.write_text(with_link_part(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
