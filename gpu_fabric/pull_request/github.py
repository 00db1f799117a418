"""One comment a stack on a pull request of GitHub: made once, edited in place afterwards."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gpu_fabric.pull_request.runs import InputError


@dataclass(frozen=True)
class PullRequest:
    api: str
    """GITHUB_API_URL, such as https://api.github.com."""
    repository: str
    """owner/name."""
    number: int
    token: str

    def put(self, marker: str, text: str) -> str:
        """Make or edit the comment that holds `marker`; its address. Raises InputError with GitHub's own words."""
        own = f"{self.api}/repos/{self.repository}/issues"
        for found in self._comments(own):
            if marker in (found.get("body") or ""):
                return self._ask("PATCH", f"{own}/comments/{found['id']}", {"body": text})["html_url"]
        return self._ask("POST", f"{own}/{self.number}/comments", {"body": text})["html_url"]

    def _comments(self, own: str) -> Iterator[Mapping[str, Any]]:
        page = 1
        while True:
            found = self._ask("GET", f"{own}/{self.number}/comments?per_page=100&page={page}")
            yield from found
            if len(found) < 100:
                return
            page += 1

    def _ask(self, method: str, address: str, body: Mapping[str, Any] | None = None) -> Any:
        request = urllib.request.Request(
            address,
            data=None if body is None else json.dumps(body).encode(),
            method=method,
            headers={
                "Authorization": f"Bearer {self.token}",
                "Accept": "application/vnd.github+json",
                "Content-Type": "application/json",
            },
        )
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            said = error.read().decode(errors="replace")[:200]
            raise InputError(
                f"GitHub refused {method} {address.partition('?')[0]}: {error.code} {said}"
            ) from error
        except OSError as error:
            raise InputError(f"GitHub was not reached: {error}") from error
