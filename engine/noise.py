"""What the engine says in a simulated run that only drowns the plan."""

from __future__ import annotations

import re

_COLOUR = re.compile(r"\x1b\[[0-9;]*m|<\{%[^%]*%\}>")

#: Said for every plugin that is taken from PATH, which is how a simulated cloud is found; on stderr, as a row of the
#: plan, and once more under Diagnostics.
_FROM_PATH = re.compile(r"\bwarning: using pulumi-[\w-]+ from \$PATH at ")

#: A row of the plan that only repeats a message; the message itself stands whole under Diagnostics.
_ROW_WITH_MESSAGE = re.compile(
    r"^ {1,4}[ +~-]{0,3} *[\w-]+:[\w/-]+:\w+ \S+ .*?(warning: |simulated [\w-]+: )"
)

#: The engine ends the other side when a resource fails; what failed is said beside it.
_MONITOR_ENDED = re.compile(r"error: Resource monitor has terminated, shutting down")


class WithoutNoise:
    """Decides line by line; rows of the plan and the text under Diagnostics are told apart by what came before."""

    def __init__(self) -> None:
        self._diagnostics = False

    def keeps(self, line: str) -> bool:
        """Whether a person should see `line`."""
        plain = _COLOUR.sub("", line)
        if plain.startswith("Diagnostics:"):
            self._diagnostics = True
        if _FROM_PATH.search(plain) or _MONITOR_ENDED.search(plain):
            return False
        return self._diagnostics or not _ROW_WITH_MESSAGE.match(plain)
