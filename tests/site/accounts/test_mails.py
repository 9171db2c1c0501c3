"""A message on its whole way: from EMAIL_URL in the environment over a real connection to a mail server."""

import os
import socketserver
import subprocess
import sys
import threading
from email import message_from_bytes
from email.message import Message

import pytest

from tests.paths import ROOT

pytestmark = pytest.mark.embedded
SENDING = """
import django
django.setup()
from annotate.accounts.mails import send_invitation
from annotate.models import Project, User
send_invitation(project=Project(name="Überzeugende Argumente"), by=User(email="alice@example.org"),
                address="bob@example.org", role="viewer", link="https://rank.example.org/", has_account=True)
"""


class Session(socketserver.StreamRequestHandler):
    """As much of SMTP (RFC 5321) as a client with a password needs."""

    def handle(self) -> None:
        self.say("220 test")
        while line := self.rfile.readline().decode().strip():
            verb = line.split()[0].upper()
            self.server.heard.append(line)  # type: ignore[attr-defined]
            if verb == "EHLO":
                self.say("250-test", "250 AUTH PLAIN")
            elif verb == "AUTH":
                self.say("235 welcome")
            elif verb == "DATA":
                self.say("354 go on")
                self.server.messages.append(self.body())  # type: ignore[attr-defined]
                self.say("250 kept")
            elif verb == "QUIT":
                self.say("221 bye")
                return
            else:
                self.say("250 fine")

    def say(self, *lines: str) -> None:
        self.wfile.write("".join(f"{line}\r\n" for line in lines).encode())

    def body(self) -> Message:
        lines = []
        while (line := self.rfile.readline()) != b".\r\n":
            lines.append(line.removeprefix(b".") if line.startswith(b"..") else line)
        return message_from_bytes(b"".join(lines))


class MailServer(socketserver.TCPServer):
    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Session)
        self.messages: list[Message] = []
        self.heard: list[str] = []


@pytest.fixture
def mail_server():
    with MailServer() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.mark.process
def test_a_message_reaches_the_server_that_the_environment_names(mail_server):
    port = mail_server.server_address[1]
    env = os.environ | {
        "DJANGO_SETTINGS_MODULE": "annotate.settings",
        "DEBUG": "true",
        "EMAIL_URL": f"smtp://post:geheim@127.0.0.1:{port}",
        "DEFAULT_FROM_EMAIL": "rank@example.org",
    }
    done = subprocess.run(
        [sys.executable, "-c", SENDING], cwd=ROOT, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    [message] = mail_server.messages
    assert (message["To"], message["From"], message["Reply-To"]) == (
        "bob@example.org",
        "rank@example.org",
        "alice@example.org",
    )
    text = message.get_payload(decode=True).decode()
    assert "Überzeugende Argumente" in text
    assert "https://rank.example.org/" in text
    assert any(line.startswith("AUTH PLAIN") for line in mail_server.heard)
    assert any(line.upper() == "RCPT TO:<BOB@EXAMPLE.ORG>" for line in mail_server.heard)
