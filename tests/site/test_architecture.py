"""The rules of the house, executed: who imports whom, what the engine may need, what the repository may hold."""

import ast
import re
import subprocess
import sys
from importlib import import_module

import pytest
from django.core.management import find_commands, load_command_class
from django.template.loader import get_template

from tests.paths import ROOT

pytestmark = pytest.mark.embedded

SITE = sorted((ROOT / "annotate").rglob("*.py"))
ENGINE = sorted((ROOT / "models_engine").rglob("*.py"))
DJANGO_FILES = {"apps.py", "models.py"}
DJANGO = {"django", "rest_framework", "channels"}
COMMANDS = find_commands(str(ROOT / "annotate/management"))


def imported(source: str) -> set[str]:
    """Every module that the source of a file imports, at whatever depth."""
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module)
    return names


def test_the_engine_knows_neither_the_site_nor_django():
    for path in ENGINE:
        if not any(name in (source := path.read_text()) for name in {"annotate", *DJANGO}):
            continue  # whatever is imported is named in the text, which is quicker to read than to parse
        packages = {name.split(".")[0] for name in imported(source)}
        assert "annotate" not in packages, path
        if path.name not in DJANGO_FILES and "migrations" not in path.parts:
            assert not packages & DJANGO, path


def test_every_property_test_tries_more_in_a_search():
    """`make test-slow` multiplies what `examples` counts; a bare number stays as it is, for fixed cases alone."""
    for path in sorted((ROOT / "tests").rglob("*.py")):
        for bare in re.findall(r"max_examples=\d[^)]*", path.read_text()):
            assert "derandomize=True" in bare, f"{path}: {bare}"


@pytest.mark.slow
def test_every_module_of_the_site_can_be_imported():
    """What only a command or the demo imports breaks as easily as the rest when a name moves."""
    for path in SITE:
        parts = path.relative_to(ROOT).with_suffix("").parts
        if "migrations" not in parts and parts[-1] not in ("__main__", "asgi", "wsgi"):
            import_module(".".join(parts).removesuffix(".__init__"))


def test_files_are_small():
    lengths = {path: len(path.read_text().splitlines()) for path in SITE + ENGINE if "migrations" not in path.parts}
    del lengths[ROOT / "annotate" / "models" / "event_verbs.py"]  # a register: a row for each event
    assert {path: length for path, length in lengths.items() if length > 400} == {}


def test_files_say_in_one_sentence_what_they_hold():
    texts = {path: path.read_text().strip() for path in SITE + ENGINE if "migrations" not in path.parts}
    silent = [path for path, text in texts.items() if text and not re.match(r'(#.*\n)*"""\S', text)]
    assert silent == []


def test_actions_write_in_turn_and_hold_projects_in_one_way():
    """Out of turn an owner on SQLite waits as long as annotators answer; two ways to hold a project exclude nobody."""
    for path in (ROOT / "annotate").rglob("actions.py"):
        text = path.read_text()
        assert "transaction.atomic" not in text, f"{path}: see annotate/core/transactions.py"
        if path.parent.name != "projects":  # whose deletion locks the row as well
            assert "Project.objects.select_for_update" not in text, f"{path}: see annotate/locks.py"


@pytest.mark.process
def test_the_web_process_never_imports_scipy():
    code = (
        "import os, sys; os.environ.update(DJANGO_SETTINGS_MODULE='annotate.settings', DEBUG='true');"
        "import annotate.asgi; from django.urls import get_resolver; get_resolver().url_patterns;"
        "sys.exit('scipy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr or "scipy was imported"


def test_templates_hold_no_inline_script_or_style():
    for path in (ROOT / "templates").rglob("*.html"):
        text = path.read_text()
        for forbidden in (
            "<script>",
            "<style",
            " style=",
            " onclick=",
            " onchange=",
            " onsubmit=",
            " onload=",
            "hx-on",
        ):
            assert forbidden not in text, f"{path.relative_to(ROOT)} holds {forbidden}, which the policy forbids"


PHYSICAL = re.compile(
    r"(?<!safe-area-)(?:margin|padding|border|inset)-(?:left|right|top|bottom)\b|(?<![\w-])(?:left|right|top|bottom|width|height)\s*:"
    r"|(?:text-align|float|clear)\s*:\s*(?:left|right)\b|(?:min|max)-(?:width|height)\s*:"
)


def test_stylesheets_name_no_side_of_the_screen():
    """Logical properties alone, so that a page turns round with its language."""
    for path in (ROOT / "static" / "css").rglob("*.css"):
        text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.DOTALL)
        assert not PHYSICAL.findall(text), f"{path.relative_to(ROOT)} says left, right, top, bottom, width or height"


@pytest.mark.process
def test_migrations_are_complete():
    done = subprocess.run(
        [sys.executable, "manage.py", "makemigrations", "--check", "--dry-run"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={"PATH": "/usr/bin:/bin", "DEBUG": "true"},
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.process
def test_production_refuses_to_start_without_a_secret_key():
    done = subprocess.run(
        [sys.executable, "manage.py", "check"], cwd=ROOT, capture_output=True, text=True, env={"PATH": "/usr/bin:/bin"}
    )
    assert done.returncode == 1
    assert done.stderr.startswith("A setting is wrong. SECRET_KEY is not set")
    assert "Traceback" not in done.stderr


@pytest.mark.process
def test_production_settings_pass_djangos_own_deployment_check():
    done = subprocess.run(
        [sys.executable, "manage.py", "check", "--deploy", "--fail-level", "WARNING"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={"PATH": "/usr/bin:/bin", "SECRET_KEY": "k9" * 30 + "-only-for-this-test"},
    )
    assert done.returncode == 0, done.stderr


TEMPLATE_NAME = re.compile(r"""["']((?:[a-z_]+/)+[a-z_0-9]+\.(?:html|svg))["']""")


@pytest.mark.slow
def test_every_template_that_is_named_exists():
    """One that moved would else be missed only by the page that shows it."""
    for path in [*SITE, *(ROOT / "templates").rglob("*.html")]:
        for name in TEMPLATE_NAME.findall(path.read_text()):
            get_template(name)  # raises TemplateDoesNotExist


def test_commands_that_show_no_page_start_without_the_pages():
    """The check of addresses imports every page: 1.2 s of CPU before a worker or a backup begins."""
    checked = {name: load_command_class("annotate", name).requires_system_checks for name in COMMANDS}
    assert {name for name, checks in checked.items() if checks == "__all__"} == {"serve"}


@pytest.mark.process
def test_a_worker_and_the_engines_commands_start_without_scipy_stats():
    """It takes .4 CPU seconds to import, in each of a worker's processes."""
    code = (
        "import django, sys; django.setup(); import annotate.management.commands.worker; import models_engine.__main__;"
        " import annotate.management.job_server; sys.exit('scipy.stats' in sys.modules)"
    )
    env = {"DJANGO_SETTINGS_MODULE": "annotate.settings", "DEBUG": "true"}
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=env, check=False).returncode == 0
