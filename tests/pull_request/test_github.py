"""One comment a stack, edited in place: against a server that answers as GitHub's REST API does."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from gpu_fabric.pull_request.errors import InputError
from gpu_fabric.pull_request.github import PullRequest


class Comments(BaseHTTPRequestHandler):
    """The comments of pull request 7."""

    held: list[dict[str, Any]]
    login: str | None
    """Whose token it is; None: an app's."""
    may_write: bool

    def _answer(self, status: int, body: Any) -> None:
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def _body(self) -> str:
        return json.loads(self.rfile.read(int(self.headers["Content-Length"])))["body"]

    def do_GET(self) -> None:
        if self.headers["Authorization"] != "Bearer right":
            self._answer(401, {"message": "Bad credentials"})
            return
        if self.path == "/user":
            person = {"login": self.login} if self.login else {"message": "Resource not accessible"}
            self._answer(200 if self.login else 403, person)
            return
        page = int(self.path.rpartition("page=")[2])
        self._answer(200, self.held[(page - 1) * 100 : page * 100])

    def do_POST(self) -> None:
        text = self._body()
        if not self.may_write:
            self._answer(403, {"message": "Resource not accessible by integration"})
            return
        user = {"login": self.login} if self.login else {"login": "github-actions[bot]", "type": "Bot"}
        self.held.append({"id": len(self.held), "body": text, "html_url": f"c{len(self.held)}", "user": user})
        self._answer(201, self.held[-1])

    def do_PATCH(self) -> None:
        found = self.held[int(self.path.rpartition("/")[2])]
        text = self._body()
        if found.get("foreign"):
            self._answer(403, {"message": "Must have admin rights to Repository."})
            return
        found["body"] = text
        self._answer(200, found)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def api() -> Iterator[str]:
    Comments.login, Comments.may_write = None, True
    Comments.held = [
        {"id": n, "body": None if n == 0 else "looks fine", "html_url": f"c{n}"} for n in range(130)
    ]
    server = ThreadingHTTPServer(("127.0.0.1", 0), Comments)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@pytest.mark.parametrize("login", [None, "builder"])
def test_the_first_report_is_a_new_comment_and_the_next_one_edits_it(api: str, login: str | None) -> None:
    Comments.login = login
    target = PullRequest(api, "team/fabric", 7, "right")
    assert target.put("<!-- gpu-fabric: dev -->", "<!-- gpu-fabric: dev -->\nfirst") == "c130"
    assert target.put("<!-- gpu-fabric: dev -->", "<!-- gpu-fabric: dev -->\nsecond") == "c130"
    assert target.put("<!-- gpu-fabric: prod -->", "<!-- gpu-fabric: prod -->\nother") == "c131"
    assert [one["body"].splitlines()[-1] for one in Comments.held[130:]] == ["second", "other"]


def test_what_github_refuses_is_told_in_its_own_words_without_the_token(api: str) -> None:
    with pytest.raises(InputError, match=r"GitHub refused GET .*: 401 .*Bad credentials") as refused:
        PullRequest(api, "team/fabric", 7, "wrong").put("x", "y")
    assert "wrong" not in str(refused.value)


MARKER = "<!-- gpu-fabric: dev -->"


@pytest.mark.parametrize("login", [None, "builder"])
@pytest.mark.parametrize(
    "comment",
    [
        {"body": f"{MARKER}\ncopied", "user": {"login": "somebody", "type": "User"}},
        {"body": f"> quoted\n{MARKER}", "user": {"login": "builder", "type": "Bot"}},
        {"body": f"{MARKER}\nof another app", "user": {"login": "builder", "type": "Bot"}, "foreign": True},
        {"body": f"{MARKER}\nof nobody", "user": None},
    ],
)
def test_a_comment_of_somebody_else_s_with_our_marker_is_left_alone(
    api: str, comment: dict[str, Any], login: str | None
) -> None:
    Comments.login = login
    Comments.held[3] = {"id": 3, "html_url": "c3", **comment}
    target = PullRequest(api, "team/fabric", 7, "right")
    assert target.put(MARKER, f"{MARKER}\nfirst") == "c130"
    assert target.put(MARKER, f"{MARKER}\nsecond") == "c130"
    assert Comments.held[3]["body"] == comment["body"]


def test_a_token_that_may_not_comment_is_told_which_permission_is_missing(api: str) -> None:
    Comments.may_write = False
    with pytest.raises(InputError, match=r"403 .*not accessible.*`pull-requests: write`.*fork"):
        PullRequest(api, "team/fabric", 7, "right").put(MARKER, "text")
