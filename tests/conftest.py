"""What every test shares: markers that need something special, and the list of what did not run."""

from __future__ import annotations

import pytest

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
