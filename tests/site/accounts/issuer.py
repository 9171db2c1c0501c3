"""A small OpenID Connect service for tests: a real HTTP server that describes itself, asks nobody and signs RS256."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

CLIENT, SECRET = "crowdrank", "s3cret"


@cache
def signing_key(name: str = "key-1") -> rsa.RSAPrivateKey:
    """A key for each name, made once: making one takes a tenth of a second."""
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def public_keys(*names: str) -> dict[str, Any]:
    rows = []
    for name in names:
        row = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(signing_key(name).public_key()))
        rows.append({**row, "kid": name, "use": "sig", "alg": "RS256"})
    return {"keys": rows}


class Issuer(ThreadingHTTPServer):
    """claims: what its tokens say besides the usual; signer: the key that signs, of which the site may know another."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.claims: dict[str, Any] = {"email": "ada@uni.example", "email_verified": True}
        self.userinfo: dict[str, Any] = {}
        self.signer = "key-1"
        self.asked: dict[str, str] = {}  # of the last visit to authorize
        self.sent: dict[str, str] = {}  # of the last visit to token

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def token(self) -> str:
        now = int(time.time())
        usual = {"iss": self.url, "aud": CLIENT, "sub": "ada-1", "iat": now, "exp": now + 300}
        claims = usual | {"nonce": self.asked.get("nonce", "")} | self.claims
        return jwt.encode(claims, signing_key(self.signer), algorithm="RS256", headers={"kid": "key-1"})


class Handler(BaseHTTPRequestHandler):
    server: Issuer

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        if parts.path == "/authorize":
            self.server.asked = {name: values[0] for name, values in parse_qs(parts.query).items()}
            back = urlencode({"code": "c-1", "state": self.server.asked["state"]})
            self.send_response(302)
            self.send_header("Location", f"{self.server.asked['redirect_uri']}?{back}")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        pages = {
            "/.well-known/openid-configuration": {
                "issuer": self.server.url,
                "authorization_endpoint": f"{self.server.url}/authorize",
                "token_endpoint": f"{self.server.url}/token",
                "userinfo_endpoint": f"{self.server.url}/userinfo",
                "jwks_uri": f"{self.server.url}/jwks",
            },
            "/jwks": public_keys("key-1"),
            "/userinfo": {"sub": "ada-1", **self.server.userinfo},
        }
        self.answer(pages.get(parts.path))

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.server.sent = {name: values[0] for name, values in parse_qs(body).items()}
        self.answer({"access_token": "a-1", "token_type": "Bearer", "id_token": self.server.token()})

    def answer(self, value: Any) -> None:
        body = json.dumps(value).encode()
        self.send_response(200 if value is not None else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: Any) -> None:
        pass


@contextmanager
def issuing() -> Iterator[Issuer]:
    server = Issuer()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
