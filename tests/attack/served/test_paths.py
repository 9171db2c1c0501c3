"""Path tricks on a served site: no address leads to a file that was not meant by it, whatever it is written like."""

import re
from collections.abc import Iterator

import pytest
from django.urls.converters import StringConverter

from tests.attack.served.site import SECRET, Served, told
from tests.paths import ROOT
from tests.routes import ROUTES

pytestmark = [pytest.mark.process, pytest.mark.slow, pytest.mark.embedded]
UP = ["../", "..%2f", "%2e%2e/", "%2e%2e%2f", "..%252f", "..\\", "..%5c", "....//", "..;/", "%c0%ae%c0%ae/", "..%00/"]


def files(site: Served) -> list[str]:
    """Files that are there: of the machine, of the project's source, of the site's data, others' pictures."""
    database = str(site.folder / "fire.sqlite3").lstrip("/")
    picture = str(site.folder / "media/items/picture.png").lstrip("/")
    return [
        "etc/passwd",
        f"{ROOT}/manage.py".lstrip("/"),
        database,
        picture,
        "items/picture.png",
        "media/items/picture.png",
    ]


def climbs(site: Served) -> Iterator[str]:
    for name in files(site):
        for up in UP:
            yield up * 12 + name
            yield up + name
        yield "/" + name
        yield name
        yield f"file:///{name}"


@pytest.mark.parametrize("prefix", ["/", "/static/", "/static/css/", "/media/", "/staticfiles/", "/help/", "/backups/"])
def test_no_prefix_leads_to_a_file(site, prefix):
    found = []
    for climb in climbs(site):
        answer = site.as_owner(prefix + climb)
        # Two of another site's slashes are one address with a slash too many, which leads nowhere else.
        if answer.status not in (0, 301, 302, 400, 404, 414) or told(answer) or leaves(answer.location):
            found.append(f"{prefix}{climb}: {answer.status} {told(answer)} {answer.location}")
    assert found == []


def leaves(location: str) -> bool:
    return location.startswith(("//", "/\\", "http", "file"))


def with_texts() -> list[str]:
    """Addresses with a part that is any text, with that part left out."""
    found = []
    for route in ROUTES:
        for key, converter in route.pattern.converters.items():
            if isinstance(converter, StringConverter):
                values = {**dict.fromkeys(route.pattern.converters, "1"), "file_format": "csv", "table": "labels"}
                values["language"] = "en"
                path = "/" + str(route.pattern)
                for name in route.pattern.converters:
                    text = "{climb}" if name == key else "{project}" if name == "project_id" else values[name]
                    kind = path.partition(f":{name}>")[0].rpartition("<")[2]
                    path = path.replace(f"<{kind}:{name}>", text)
                found.append(path)
    return sorted(set(found))


def test_no_text_in_an_address_names_a_file(site):
    found, paths = [], with_texts()
    assert len(paths) > 10
    for path in paths:
        for climb in [f"{up}{up}{up}items/picture.png" for up in UP] + [
            "%2fetc%2fpasswd",
            "..",
            ".",
            "%00",
            "con",
            "~root",
        ]:
            target = path.replace("{project}", site.project).replace("{climb}", climb)
            answer = site.as_owner(target)
            if answer.status not in (0, 301, 302, 400, 404, 405, 410) or told(answer) or leaves(answer.location):
                found.append(f"{target}: {answer.status} {told(answer)}")
    assert found == []


def test_the_picture_itself_is_its_members(site):
    """So that what is looked for above is there to be found."""
    page = site.as_owner(f"/projects/{site.project}/items/").body.decode()
    [address] = set(re.findall(r"/media/items/\d+/", page))
    assert SECRET in site.as_owner(address).body
    assert site.get(address).status == 404


@pytest.mark.parametrize(
    "name", ["manage.py", ".git/config", ".env", "environment", "db.sqlite3", "backups/", "Makefile"]
)
def test_no_file_of_the_source_is_served(site, name):
    for prefix in ("/", "/static/", "/static/../", "/static/%2e%2e/"):
        assert site.get(prefix + name).status in (400, 404), prefix + name


def test_folders_list_nothing(site):
    for path in ("/static/", "/static/css/", "/media/", "/media/items/", "/static", "/items/", "/exports/"):
        assert site.as_owner(path).status in (301, 404), path
