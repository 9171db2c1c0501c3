"""`manage.py serve` says what keeps it from starting; an older database is in test_upgrade.py."""

import socket
from collections.abc import Iterator

import pytest
from django.core.management import CommandError, call_command

from annotate.management.commands.serve import check_static_files


@pytest.fixture
def port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        yield taken.getsockname()[1]


def test_a_port_that_is_taken(port):
    with pytest.raises(CommandError, match=f"Port {port}"):
        call_command("serve", port=port)


def test_no_web_process():
    with pytest.raises(CommandError, match="--workers 0"):
        call_command("serve", workers=0)


def test_static_files_that_were_never_collected(settings, tmp_path):
    settings.STATIC_ROOT = tmp_path / "nothing"
    settings.STORAGES = settings.STORAGES | {
        "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"}
    }
    with pytest.raises(CommandError, match=r"no static files in .*nothing.*collectstatic"):
        check_static_files()
