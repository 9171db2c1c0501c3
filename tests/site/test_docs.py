"""The documentation is true: links lead somewhere, commands and files exist, settings and the map are complete."""

import re
import tomllib
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from django.core.management import get_commands

from models_engine.benchmarks.__main__ import COMMANDS as BENCHMARKS
from tests.paths import ROOT

pytestmark = pytest.mark.embedded

MAX_README_LINES = 150
MAX_IMAGE_BYTES = 300_000
DOCUMENTS = sorted(
    [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / ".github").rglob("*.md"),
        ROOT / "models_engine" / "README.md",
    ]
)
LINK = re.compile(r"\]\(([^)\s]+)\)|(?:src|srcset)=\"([^\"]+)\"")
ONLY_IN_THE_WHEEL = {"annotate/bundled/"}
# Variables that are not settings of the site; each is described where it is named.
OTHER_VARIABLES = {
    *("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "POSTGRES_PASSWORD", "PASSWORD"),
    *("CROWDRANK_URL", "CROWDRANK_TOKEN", "DEMO_FOLDER", "DEMO_PASSWORD"),
    *("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"),
    *("DEBUG", "WARNING", "ERROR", "FORCE", "PEERS", "SIGNERS"),
}


def each_document() -> pytest.MarkDecorator:
    return pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))


def anchors(path: Path) -> set[str]:
    """The anchors of a page's headings, as forges make them."""
    headings = re.findall(r"^#+ (.+)$", path.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@each_document()
def test_links_lead_somewhere(path):
    for pair in LINK.findall(path.read_text()):
        link = next(filter(None, pair))
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = (path.parent / name).resolve() if name else path
        assert target.exists(), f"{link} leads nowhere"
        if anchor:
            assert anchor in anchors(target), f"{link}: there is no such heading"


def commands(pattern: str) -> Iterator[tuple[str, str]]:
    """Every command named in the documentation, with the page that names it; the changelog tells of the past."""
    for path in DOCUMENTS:
        if path.name != "CHANGELOG.md":
            yield from ((found, str(path.relative_to(ROOT))) for found in re.findall(pattern, path.read_text()))


def test_make_targets_exist():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(commands(r"(?m)(?:`|^ {4,}|&& )make ([a-z-]+)"))
    assert {page for _, page in named} >= {"README.md", "docs/backups.md"}
    assert not {(name, page) for name, page in named if name not in targets}


def test_management_commands_exist():
    known = set(get_commands())
    named = set(commands(r"manage\.py ([a-z_]+)"))
    assert len(named) > 5
    assert not {(name, page) for name, page in named if name not in known}


def test_python_modules_exist():
    named = set(commands(r"python -m ([\w.]+)"))
    assert {name for name, _ in named} >= {"models_engine", "annotate.client"}
    assert not {(name, page) for name, page in named if find_spec(name) is None}
    assert {name for name, _ in commands(r"-m models_engine\.benchmarks ([a-z-]+)")} <= set(BENCHMARKS)


@each_document()
def test_named_files_exist(path):
    for name in re.findall(r"`((?:annotate|models_engine|templates|static|tests|docs)/[\w./-]*)`", path.read_text()):
        if name not in ONLY_IN_THE_WHEEL and not re.search(r"[A-Z]{4}", name):  # SUBJECT and NAME stand for a name
            assert (ROOT / name).exists(), f"{name} does not exist"


def settings_read() -> set[str]:
    files = (ROOT / "annotate" / "settings").glob("*.py")
    return {name for file in files for name in re.findall(r"env\.[a-z]+\(\s*\"([A-Z_]+)\"", file.read_text())}


def test_every_setting_is_described():
    described = re.findall(r"^\| (`[^|]+) \|", (ROOT / "docs" / "settings.md").read_text(), re.MULTILINE)
    names = {name for row in described for name in re.findall(r"`([A-Z_]+)`", row)}
    assert names - OTHER_VARIABLES | {"DEBUG"} == settings_read()


@each_document()
def test_named_settings_exist(path):
    if path.name != "CHANGELOG.md":
        named = set(re.findall(r"`([A-Z][A-Z_]{4,})(?:=[^`]*)?`", path.read_text()))
        assert named <= settings_read() | OTHER_VARIABLES


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text().splitlines()) <= MAX_README_LINES


def block_after(text: str, sentence: str) -> list[str]:
    """The indented lines of the first code block after a sentence."""
    rest = text.partition(sentence)[2]
    assert rest, f"“{sentence}” is not on the page"
    block = re.search(r"(?:^ {4,}\S.*\n)+", rest, re.MULTILINE)
    assert block, f"no block follows “{sentence}”"
    return block.group().splitlines()


def test_the_map_is_the_tree():
    lines = block_after((ROOT / "README.md").read_text(), "## The map")
    folders = {"annotate/": set()}
    for line in lines:
        name = line.split()[0]
        (folders["annotate/"].add(name) if line.startswith(" " * 6) else folders.setdefault(name, set()))
    assert folders.pop("annotate/") == subfolders(ROOT / "annotate")
    shown = {folder for folder in subfolders(ROOT) if tracked(ROOT / folder)}
    assert {*folders, "annotate/"} == shown


def subfolders(path: Path) -> set[str]:
    return {f"{one.name}/" for one in path.iterdir() if one.is_dir() and one.name[0] not in "._"}


def tracked(folder: Path) -> bool:
    """Whether it belongs to the repository: not what collectstatic or uploads left."""
    return folder.name not in {"staticfiles", "media", "build", "dist", "backups"} and not folder.name.endswith("-info")


@pytest.mark.parametrize(("sentence", "package"), [("The site, top", "annotate"), ("The engine, top", "models_engine")])
def test_the_floors_are_the_contract(sentence, package):
    lines = block_after((ROOT / "docs" / "architecture.md").read_text(), sentence)
    drawn = [set(re.split(r" {2,}", line.strip())[0].split(" | ")) for line in lines]
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(one["layers"] for one in contracts if one.get("containers") == [package])
    assert drawn == [set(layer.split(" | ")) for layer in layers]


def test_every_decision_is_listed():
    listed = set(re.findall(r"\((\d{4}-[\w-]+\.md)\)", (ROOT / "docs" / "adr" / "README.md").read_text()))
    assert listed == {path.name for path in (ROOT / "docs" / "adr").glob("0*.md")}


def test_pictures_are_small_and_come_in_light_and_dark():
    pictures = {path.stem: path.stat().st_size for path in (ROOT / "docs" / "images").glob("*.png")}
    assert pictures
    assert max(pictures.values()) <= MAX_IMAGE_BYTES
    assert {f"{name.rpartition('-')[0]}-{scheme}" for name in pictures for scheme in ("light", "dark")} == set(pictures)


def test_every_class_of_attack_is_in_the_table():
    told = (ROOT / "SECURITY.md").read_text()
    files = sorted((ROOT / "tests" / "attack").rglob("test_*.py"))
    assert [str(path.relative_to(ROOT)) for path in files if f"`{path.relative_to(ROOT)}`" not in told] == []
    assert len(files) > 25
