"""A learning platform for tests: a real HTTP server that issues signed messages, gives tokens, takes grades and lists
the people of a course."""

import json
from functools import cache
from urllib.parse import parse_qs, urlsplit

import jwt
from django.test import Client

from annotate.lti.launches import SCORE_SCOPE
from annotate.lti.memberships import MEDIA_TYPE, SCOPE
from annotate.models import LtiPlatform
from annotate.models.lti import new_private_key
from tests.site.accounts.issuer import Handler, Issuer

CLIENT, DEPLOYMENT = "crowdrank", "d-1"


class PlatformHandler(Handler):
    """Beside what an issuer does: gives tokens for grades to whom the key fits, and keeps the grades."""

    def do_GET(self) -> None:
        page = self.server.pages.get(self.path)
        if page is None:
            super().do_GET()
            return
        assert (self.headers["Authorization"], self.headers["Accept"]) == ("Bearer t-1", MEDIA_TYPE)
        status, headers, body = page
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        server = self.server
        if self.path == "/token":
            asked = {name: values[0] for name, values in parse_qs(body).items()}
            jwt.decode(
                asked["client_assertion"],
                jwt.PyJWK(server.tool_keys[0]),
                audience=f"{server.url}/token",
                issuer=CLIENT,
                leeway=3600,
            )
            assert asked["scope"] in (SCORE_SCOPE, SCOPE)
            self.answer({"access_token": "t-1"})
        else:
            server.grades.append((self.path, self.headers["Authorization"], json.loads(body)))
            self.answer({} if not server.failing else None)


@cache
def tool_key() -> str:
    """This site's key at the platform, made once: making one takes a tenth of a second."""
    return new_private_key()


def lti_platform(**values) -> LtiPlatform:
    """A platform that is registered and never asked."""
    site = "https://lms.example.org"
    usual = {"name": "LMS", "issuer": site, "client_id": "1", "deployment_ids": "1", "private_key": tool_key()}
    return LtiPlatform.objects.create(**(usual | values))


def begin(client: Client, server: Issuer, **asked) -> dict[str, str]:
    """The platform's part until its form is sent: what it sends to the launch."""
    there = client.post("/lti/login/", {"iss": server.url, "client_id": CLIENT, "login_hint": "u", **asked})
    assert there.status_code == 302
    server.asked = {name: values[0] for name, values in parse_qs(urlsplit(there["Location"]).query).items()}
    return {"state": server.asked["state"], "id_token": server.token()}


def launch(client: Client, server: Issuer):
    return client.post("/lti/launch/", begin(client, server))
