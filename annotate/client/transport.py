"""How the site is asked: pages followed, refusals raised, safe requests tried again, files sent and taken in pieces."""

import json
import shutil
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable, Iterable, Iterator
from http.client import HTTPMessage, HTTPResponse
from pathlib import PurePath
from typing import IO, Any, TypeVar, cast
from urllib.parse import urlencode, urlsplit

PAGE = 1000  # rows asked for at a time
BLOCK = 2**16  # bytes of a file sent at a time
TRIES = 4
BETWEEN_LOOKS = 1.0  # seconds, at what takes its time
LONGEST_WAIT = 60.0
T = TypeVar("T")


class ApiError(Exception):
    """An error response of the site. `kind` identifies the problem; `errors` are by field."""

    def __init__(self, status: int, problem: dict[str, Any]) -> None:
        self.status = status
        self.kind = str(problem.get("type", "")).rpartition(":")[2]
        self.detail = str(problem.get("detail") or problem.get("title") or "No reason was given.")
        self.errors: dict[str, list[str]] = problem.get("errors", {})
        super().__init__(f"{status}: {self.detail}")


class Stay(urllib.request.HTTPRedirectHandler):
    """Follows no redirect, so that the token is sent nowhere else."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> None:
        return None


class Transport:
    """Acts as the owner of the token or, with `scheme="Annotator"`, as somebody who joined by link."""

    def __init__(self, url: str, token: str = "", *, scheme: str = "Bearer", timeout: float = 60.0) -> None:
        if urlsplit(url).scheme not in ("http", "https"):
            raise ValueError(f"“{url}” is no address of a site; write it as in https://rank.example.org.")
        self.root = url.rstrip("/")
        self.timeout = timeout
        self._authorization = f"{scheme} {token}" if token else ""
        self._opener = urllib.request.build_opener(Stay)

    def call(
        self,
        method: str,
        path: str,
        *,
        query: dict[str, Any] | None = None,
        body: Any = None,
        key: str = "",
        repeatable: bool = False,
    ) -> Any:
        """One request below /api/v1/; raises ApiError. key: an Idempotency-Key.

        What may be sent twice (GET, with a key, `repeatable`) is tried again when the site is out of reach; a refusal
        for being asked too often is waited out.
        """

        def ask() -> Any:
            with self._send(method, path, query=query, body=body, key=key) as response:
                content = response.read()
            return json.loads(content) if content else None

        return self._ask_until_answered(ask, again=repeatable or bool(key) or method == "GET")

    def _ask_until_answered(self, ask: Callable[[], T], *, again: bool) -> T:
        """again: it may be asked twice. What was refused for being asked too often may, whatever it is."""
        for left in reversed(range(TRIES)):
            try:
                return ask()
            except urllib.error.HTTPError as error:
                wait = float(error.headers.get("Retry-After") or 1)
                if not left or not (error.code == 429 or (again and error.code in (502, 503, 504))):
                    raise ApiError(error.code, problem_in(error)) from None
                if wait > LONGEST_WAIT:
                    raise ApiError(error.code, problem_in(error)) from None
                time.sleep(wait)
            except (urllib.error.URLError, TimeoutError, ConnectionError):
                if not left or not again:
                    raise
                time.sleep(2.0 ** (TRIES - 1 - left) / 4)
        raise AssertionError("the last try either returns or raises")

    def _send(
        self,
        method: str,
        path: str,
        *,
        query: dict[str, Any] | None = None,
        body: Any = None,
        key: str = "",
        form: "Form | None" = None,
    ) -> HTTPResponse:
        known = {name: value for name, value in (query or {}).items() if value is not None}
        url = f"{self.root}/api/v1/{path}" + (f"?{urlencode(known)}" if known else "")
        headers = {"Accept": "application/json"}
        if self._authorization:
            headers["Authorization"] = self._authorization
        if key:
            headers["Idempotency-Key"] = key
        data: Any = None
        if form is not None:
            headers |= {"Content-Type": form.content_type, "Content-Length": str(form.length)}
            data = form.blocks()
        elif body is not None:
            headers["Content-Type"] = "application/json"
            data = json.dumps(body, allow_nan=False).encode()
        request = urllib.request.Request(url, data, headers, method=method)  # noqa: S310  (the scheme was checked)
        return cast(HTTPResponse, self._opener.open(request, timeout=self.timeout))

    def upload(self, path: str, fields: dict[str, str], files: dict[str, IO[bytes]]) -> dict[str, Any]:
        """Send files with fields as a form, in pieces; what has been taken is never repeated. Raises ApiError."""

        def ask() -> dict[str, Any]:
            with self._send("POST", path, form=Form(fields, files)) as response:
                return cast(dict[str, Any], json.load(response))

        return self._ask_until_answered(ask, again=False)

    def download(self, path: str, file: IO[bytes], query: dict[str, Any] | None = None) -> None:
        """Write the response into the file while it arrives. Raises ApiError."""
        with self._ask_until_answered(lambda: self._send("GET", path, query=query), again=True) as response:
            shutil.copyfileobj(response, file)

    def _rows(self, path: str, filters: dict[str, Any] | None = None) -> Iterator[Any]:
        number = 1
        while True:
            page = self.call("GET", path, query={"page_size": PAGE, **(filters or {}), "page": number})
            yield from page["results"]
            if page["next"] is None:
                return
            number += 1

    def _whole(self, path: str, query: dict[str, Any]) -> dict[str, Any]:
        """Return a reply that comes in pages, with the rows of all pages."""
        whole = cast(dict[str, Any], self.call("GET", path, query=query))
        for number in range(2, whole["n_pages"] + 1):
            whole["results"] += self.call("GET", path, query={**query, "page": number})["results"]
        return whole


class Form:
    """Encodes fields and files as multipart/form-data; files are read while they are sent."""

    def __init__(self, fields: dict[str, str], files: dict[str, IO[bytes]]) -> None:
        self.boundary = uuid.uuid4().hex
        self.content_type = f"multipart/form-data; boundary={self.boundary}"
        self.parts: list[bytes | IO[bytes]] = []
        self.length = 0
        for name, value in fields.items():
            self.add(self.head(name) + value.encode() + b"\r\n")
        for name, file in files.items():
            called = (
                PurePath(str(getattr(file, "name", name))).name.replace('"', "%22").replace("\r", "").replace("\n", "")
            )
            self.add(self.head(name, f'; filename="{called}"'))
            self.length += file.seek(0, 2)
            self.parts.append(file)
            self.add(b"\r\n")
        self.add(f"--{self.boundary}--\r\n".encode())

    def head(self, name: str, more: str = "") -> bytes:
        return f'--{self.boundary}\r\nContent-Disposition: form-data; name="{name}"{more}\r\n\r\n'.encode()

    def add(self, part: bytes) -> None:
        self.parts.append(part)
        self.length += len(part)

    def blocks(self) -> Iterable[bytes]:
        for part in self.parts:
            if isinstance(part, bytes):
                yield part
                continue
            part.seek(0)
            while block := part.read(BLOCK):
                yield block


def new_key() -> str:
    return str(uuid.uuid4())


def problem_in(error: urllib.error.HTTPError) -> dict[str, Any]:
    """Return the problem details of an error response; ignore the reply of a proxy."""
    try:
        problem = json.loads(error.read())
    except ValueError:
        problem = None
    return problem if isinstance(problem, dict) else {"title": error.reason}
