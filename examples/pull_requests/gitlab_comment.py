"""Posts the file `diff.json` of each open merge request's newest pipeline as one comment, or changes the one before.

Runs in a scheduled pipeline of the default branch (gitlab-comment-ci.yaml). The file is from a merge request's code:
`hosted-mesh diff --from` treats it as hostile. The project and the commit are from GitLab.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import HTTPRedirectHandler, Request, build_opener

API = os.environ["CI_API_V4_URL"]
PROJECT = f"projects/{os.environ['CI_PROJECT_ID']}"
MARKER = "<!-- hosted-mesh diff -->"
JOB = "diff"
LONGEST = 16 * 2**20  # bytes; the command rejects longer files


class NoRedirects(HTTPRedirectHandler):
    """Another host would get the token."""

    def redirect_request(self, *_: Any) -> None:
        return None


OPENER = build_opener(NoRedirects)


def call(method: str, path: str, body: dict[str, str] | None = None) -> Any:
    headers = {"PRIVATE-TOKEN": os.environ["GITLAB_TOKEN"], "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    request = Request(f"{API}/{path}", data, headers, method=method)  # noqa: S310 (the address is GitLab's variable)
    with OPENER.open(request, timeout=60) as answer:
        return answer.read(LONGEST + 1)


def pages(path: str) -> Iterator[dict[str, Any]]:
    number = 1
    while found := json.loads(call("GET", f"{path}{'&' if '?' in path else '?'}per_page=100&page={number}")):
        yield from found
        number += 1


def artifact(merge_request: dict[str, Any]) -> bytes | None:
    """The file of the newest pipeline's job. A fork's pipeline is in the fork's project."""
    pipeline = json.loads(call("GET", f"{PROJECT}/merge_requests/{merge_request['iid']}"))["head_pipeline"]
    if pipeline is None or pipeline["sha"] != merge_request["sha"]:
        return None
    jobs = pages(f"projects/{pipeline['project_id']}/pipelines/{pipeline['id']}/jobs")
    for job in jobs:
        if job["name"] == JOB and job["status"] in ("success", "failed"):
            try:
                found: bytes = call("GET", f"projects/{pipeline['project_id']}/jobs/{job['id']}/artifacts/diff.json")
            except HTTPError as error:
                if error.code != 404:
                    raise
            else:
                return found
    return None


def comment(file: bytes, commit: str) -> tuple[str, bool]:
    """The comment, and whether something differs. Raises: ValueError for a malformed file."""
    with tempfile.TemporaryDirectory() as folder:
        diff, text = Path(folder, "diff.json"), Path(folder, "comment.md")
        diff.write_bytes(file)
        command = ["hosted-mesh", "diff", "--from", str(diff), "--markdown", "--exit-code", "--output", str(text)]
        done = subprocess.run(command, check=False)
        if not text.exists():
            raise ValueError("the file is malformed")
        first, second, rest = text.read_text(encoding="utf-8").split("\n", 2)
    return f"{first}\n{second}, at {commit[:10]}\n{rest}", done.returncode != 0


def post(number: int, text: str, differs: bool, own: int) -> None:
    notes = f"{PROJECT}/merge_requests/{number}/notes"
    for note in pages(notes):
        if note["author"]["id"] == own and note["body"].startswith(MARKER):
            if note["body"].rstrip() != text.rstrip():
                call("PUT", f"{notes}/{note['id']}", {"body": text})
            return
    if differs:  # without a difference there is no comment
        call("POST", notes, {"body": text})


def main() -> int:
    own = json.loads(call("GET", "user"))["id"]
    failed = 0
    for merge_request in pages(f"{PROJECT}/merge_requests?state=opened"):
        file = artifact(merge_request)
        if file is None:
            continue
        try:
            text, differs = comment(file, merge_request["sha"])
        except ValueError as error:
            print(f"!{merge_request['iid']}: {error}", file=sys.stderr)
            failed = 1
        else:
            post(merge_request["iid"], text, differs, own)
    return failed


if __name__ == "__main__":
    sys.exit(main())
