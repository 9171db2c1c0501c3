"""Settings read from the environment: a slip is named, never taken for a default; compose.yaml hands all of them on."""

import re
import warnings

import pytest
from django.core.exceptions import ImproperlyConfigured

from annotate.core.environment import RENAMED, Environment
from tests.paths import ROOT

READERS = {
    "switch": lambda: Environment().switch("OURS", default=True),
    "number": lambda: Environment().number("OURS", default=3),
    "rate": lambda: Environment().rate("OURS", default="60/min"),
    "database": lambda: Environment().database("OURS", default="sqlite:////tmp/x"),
    "redis": lambda: Environment().redis("OURS"),
    "hosts": lambda: Environment().hosts("OURS"),
    "cluster": lambda: Environment().cluster("OURS"),
    "secret": lambda: Environment().secret("OURS"),
    "mail": lambda: Environment().mail("OURS", default="consolemail://"),
}


@pytest.mark.parametrize(
    ("reader", "value"),
    [
        ("switch", "yess"),
        ("number", "two"),
        ("number", "-1"),
        ("rate", "600/moon"),
        ("rate", "many"),
        ("database", "nonsense"),
        ("database", "mysql://u:sekret@h/n"),
        ("database", "postgres://u:sekret@h"),
        ("redis", "http://u:sekret@h"),
        ("hosts", "https://rank.example.org"),
        ("cluster", "10.0.0.7:8786"),
        ("secret", "too-short"),
        ("mail", "smtp+tsl://u:sekret@h:587"),
    ],
)
def test_a_slip_stops_the_start_and_is_named(monkeypatch, reader, value):
    monkeypatch.setenv("OURS", value)
    with pytest.raises(ImproperlyConfigured, match="OURS") as caught:
        READERS[reader]()
    assert "sekret" not in str(caught.value)


@pytest.mark.parametrize(
    ("reader", "value", "read"),
    [
        ("switch", "False", False),
        ("switch", "ON", True),
        ("number", "0", 0),
        ("rate", "5/hour", "5/hour"),
        ("redis", "", ""),
        ("redis", "rediss://h", "rediss://h"),
        ("hosts", "a.example, .b.example", ["a.example", ".b.example"]),
    ],
)
def test_what_is_right_is_read(monkeypatch, reader, value, read):
    monkeypatch.setenv("OURS", value)
    assert READERS[reader]() == read


def test_left_out_or_empty_the_default_holds(monkeypatch):
    monkeypatch.delenv("OURS", raising=False)
    assert (READERS["switch"](), READERS["number"](), READERS["rate"]()) == (True, 3, "60/min")
    monkeypatch.setenv("OURS", "")
    assert (READERS["switch"](), READERS["number"](), READERS["rate"]()) == (True, 3, "60/min")
    assert READERS["database"]()["NAME"] == "/tmp/x"
    assert READERS["mail"]()["EMAIL_BACKEND"].endswith("console.EmailBackend")


def test_a_setting_is_read_under_its_old_name_with_a_warning(monkeypatch):
    monkeypatch.setenv("ENGINE_LEASE_SECONDS", "7")
    for new_value in (None, ""):  # left out, or handed on empty
        monkeypatch.setenv("WORKER_LEASE_SECONDS", new_value or "")
        if new_value is None:
            monkeypatch.delenv("WORKER_LEASE_SECONDS")
        with pytest.warns(FutureWarning, match="ENGINE_LEASE_SECONDS is called WORKER_LEASE_SECONDS now"):
            assert Environment().number("WORKER_LEASE_SECONDS", default=30) == 7
    monkeypatch.setenv("RETURN_HOSTS", "a.example,b.example")
    with pytest.warns(FutureWarning, match="RETURN_HOSTS"):
        assert Environment().list("ALLOWED_RETURN_HOSTS", default=[]) == ["a.example", "b.example"]


def test_the_new_name_of_a_setting_wins_without_a_warning(monkeypatch):
    monkeypatch.setenv("ENGINE_LEASE_SECONDS", "7")
    monkeypatch.setenv("WORKER_LEASE_SECONDS", "9")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Environment().number("WORKER_LEASE_SECONDS", default=30) == 9


def settings_read() -> set[str]:
    source = "".join(file.read_text() for file in (ROOT / "annotate" / "settings").glob("*.py"))
    return set(re.findall(r'env\.\w+\(\s*"([A-Z_]+)"', source))


def test_settings_read_the_new_names_and_compose_hands_the_old_ones_on():
    read = settings_read()
    assert set(RENAMED) <= read
    assert not set(RENAMED.values()) & read
    compose = (ROOT / "compose.yaml").read_text()
    assert [old for old in RENAMED.values() if not re.search(rf"\b{old}\b", compose)] == []


def test_compose_hands_every_setting_on():
    read = settings_read()
    handed = set(re.findall(r"^    ([A-Z_]+):", (ROOT / "compose.yaml").read_text(), re.M))
    in_the_image = {"MEDIA_ROOT", "STATIC_ROOT", "DEBUG"}
    assert len(read) > 30
    assert read - handed - in_the_image == set()
