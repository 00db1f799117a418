"""What every test shares: markers that need something special, and the list of what did not run."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml

from gpu_fabric.engine.binary import Engine, find_engine
from tests.simulated import PULUMI_YAML, ROOT, SimulatedStack

#: Markers whose tests need something a plain machine lacks; they run when asked for with `-m`.
NEEDS = {
    "online": "needs the internet; run it with -m online",
    "account": "needs a cloud account; run it with -m account",
    "slow": "takes minutes; run it with -m slow",
}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    asked = config.getoption("-m")
    for item in items:
        for marker, reason in NEEDS.items():
            if item.get_closest_marker(marker) and marker not in asked:
                item.add_marker(pytest.mark.skip(reason=f"not run: {reason}"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    skipped = terminalreporter.stats.get("skipped", [])
    if not skipped:
        return
    terminalreporter.section("what did not run, and why")
    for report in skipped:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        terminalreporter.write_line(f"{report.nodeid}: {reason.removeprefix('Skipped: ')}")


@pytest.fixture(scope="session")
def engine() -> Engine:
    """The real Pulumi engine; made here if nothing else has made it yet."""
    return find_engine()


@pytest.fixture
def simulated(tmp_path: Path, engine: Engine) -> SimulatedStack:
    """An empty project with the repository's own program; a test changes what it needs."""
    project = tmp_path / "project"
    project.mkdir()
    (project / "Pulumi.yaml").write_text(yaml.safe_dump(PULUMI_YAML))
    shutil.copy(ROOT / "__main__.py", project / "__main__.py")
    return SimulatedStack(project, engine)
