"""One annotator as the server sees a browser: cookies, CSRF token, the label form's token; no JavaScript."""

import http.client
import random
import re
import time
import urllib.parse
from dataclasses import dataclass, field

TOKEN = re.compile(r'/label/([\w-]{10,})/"')
SHOWN = re.compile(r'data-token="([\w-]+)"')  # of the task, then of the question ahead
HIDDEN = re.compile(r'<input type="hidden" name="([\w-]+)" value="([^"]*)"')


@dataclass
class Reply:
    status: int
    text: str
    location: str


@dataclass
class AnnotatorClient:
    """Joins by link and answers; every request is retried until the server answers, as the page's own code does.

    waits_if_busy: a 503 is no answer, either. shows_ahead: as the page's code does, it shows the question ahead at once
    and says so with the answer, whose reply then leaves it out.
    """

    host: str
    port: int
    patience: float = 120.0
    cookies: dict[str, str] = field(default_factory=dict)
    token: str | None = None
    project_id: str = ""
    waits_if_busy: bool = False
    shows_ahead: bool = False
    ahead: str = ""
    _connection: http.client.HTTPConnection | None = None

    def request(self, method: str, path: str, form: dict[str, str] | None = None, htmx: bool = False) -> Reply:
        """One request, sent again after a failure of the network until `patience` seconds are over.

        At once where a connection that was kept open turns out to be closed, as browsers do.
        """
        deadline = time.monotonic() + self.patience
        while True:
            was_kept = self._connection is not None
            try:
                reply = self._send(method, path, form, htmx)
                if reply.status != 503 or not self.waits_if_busy or time.monotonic() > deadline:
                    return reply
            except (OSError, http.client.HTTPException):
                self.close()
                if time.monotonic() > deadline:
                    raise
                if was_kept:
                    continue
            time.sleep(0.05 + random.random() * 0.1)

    def _send(self, method: str, path: str, form: dict[str, str] | None, htmx: bool) -> Reply:
        if self._connection is None:
            self._connection = http.client.HTTPConnection(self.host, self.port, timeout=20)
        headers = {"Cookie": "; ".join(f"{k}={v}" for k, v in self.cookies.items())}
        body = None
        if form is not None:
            body = urllib.parse.urlencode(form)
            headers["Content-Type"] = "application/x-www-form-urlencoded"
            headers["X-CSRFToken"] = self.cookies.get("csrftoken", "")
        if htmx:
            headers["HX-Request"] = "true"
        self._connection.request(method, path, body, headers)
        response = self._connection.getresponse()
        text = response.read().decode()
        for value in response.headers.get_all("Set-Cookie") or []:
            name, _, rest = value.partition("=")
            self.cookies[name] = rest.partition(";")[0]
        return Reply(response.status, text, response.headers.get("Location", ""))

    def join(self, join_token: str, pseudonym: str) -> None:
        path = f"/join/{join_token}/"
        page = self.request("GET", path)
        assert page.status == 200, (page.status, page.text[:500])
        reply = self.request("POST", path, {**dict(HIDDEN.findall(page.text)), "pseudonym": pseudonym})
        assert reply.status in (302, 303), (reply.status, reply.text[:500])
        self.project_id = reply.location.split("/projects/")[1].split("/")[0]
        self.look()

    def look(self) -> str | None:
        """Opens the label page, and the next presentation if none is open; the token that it asks to answer."""
        path = f"/projects/{self.project_id}/label/"
        self.keep(self.request("GET", path).text)
        if self.token is None:
            reply = self.request("POST", path, {})
            self.token = found(reply.text) or found(self.request("GET", path).text)
        return self.token

    def answer(self, answer: str, htmx: bool = True, token: str | None = None) -> Reply:
        """Answers the open presentation (or `token`); keeps the next one's token."""
        form = {"answer": answer, "response_ms": str(random.randint(800, 9000))}
        if self.ahead:
            form["shown"] = self.ahead
        reply = self.request("POST", f"/label/{token or self.token}/", form, htmx)
        if token is None:
            self.keep(reply.text)
        return reply

    def keep(self, text: str) -> None:
        """Keeps the token of the task on this page, and that of the question ahead where it is shown."""
        self.token, self.ahead = found(text), ""
        if self.shows_ahead:
            token, self.ahead = [*SHOWN.findall(text), "", ""][:2]
            self.token = token or None

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def found(text: str) -> str | None:
    match = TOKEN.search(text)
    return match.group(1) if match else None
