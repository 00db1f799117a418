"""One comment a stack on a pull request of GitHub: made once, edited in place afterwards."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gpu_fabric.pull_request.errors import InputError

_FORBIDDEN = 403
#: How GitHub answers about what this token may not touch or see.
_NOT_OURS = (_FORBIDDEN, 404)


class RefusedError(InputError):
    """GitHub's refusal, with its HTTP status."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


@dataclass(frozen=True)
class PullRequest:
    api: str
    """GITHUB_API_URL, such as https://api.github.com."""
    repository: str
    """owner/name."""
    number: int
    token: str

    def put(self, marker: str, text: str) -> str:
        """Make or edit our comment that begins with `marker`; its address. Raises InputError with GitHub's own words.

        A comment of somebody else's that quotes the marker is none of ours.
        """
        own = f"{self.api}/repos/{self.repository}/issues"
        login = self._login()
        for found in list(self._comments(own)):
            if (found.get("body") or "").startswith(marker) and _is_ours(found.get("user") or {}, login):
                try:
                    return self._ask("PATCH", f"{own}/comments/{found['id']}", {"body": text})["html_url"]
                except RefusedError as error:
                    if error.code not in _NOT_OURS:
                        raise
        try:
            return self._ask("POST", f"{own}/{self.number}/comments", {"body": text})["html_url"]
        except RefusedError as error:
            if error.code != _FORBIDDEN:
                raise
            raise InputError(
                f"{error}; the token needs `pull-requests: write`, which a pull request from a fork never gets"
            ) from error

    def _login(self) -> str | None:
        """Whose token this is; None for an app's, such as that of GitHub Actions, which may not ask."""
        try:
            return self._ask("GET", f"{self.api}/user")["login"]
        except RefusedError as error:
            if error.code not in _NOT_OURS:
                raise
            return None

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
            where = address.partition("?")[0]
            raise RefusedError(error.code, f"GitHub refused {method} {where}: {error.code} {said}") from error
        except OSError as error:
            raise InputError(f"GitHub was not reached: {error}") from error


def _is_ours(user: Mapping[str, Any], login: str | None) -> bool:
    """Whether the token's own account wrote it. An app's token does not know its own: any app's, never a person's."""
    return user.get("type") == "Bot" if login is None else user.get("login") == login
