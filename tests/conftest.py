"""The cast of every site test: Alice owns, Manuel manages, Bob annotates, Vera views, Charlie is a stranger."""

import gc
import os
import platform
import random
import subprocess
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from multiprocessing.process import BaseProcess

# As the Makefile does, before numpy is imported: with two threads a test takes several times as much CPU beside others.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import hypothesis
import pytest
from django.conf import settings as django_settings
from django.core.cache import cache, caches
from django.core.management.commands import flush
from django.db import connection, connections
from django.template import Context, Template
from django.test import override_settings
from django.test.signals import template_rendered
from django.utils import timezone, translation

from annotate.accounts.actions import create_token
from annotate.labelling import assignment
from annotate.labelling.actions import Answer, record_label
from annotate.labelling.outcomes import EXTRA_OUTCOMES
from annotate.models import Annotator, ApiToken, Item, Label, Membership, Presentation, Project, User
from tests.budget import PROFILE, SEARCH, examples
from tests.migrated import checkout, copy_migrated, migrated_template
from tests.paths import ROOT
from tests.postgresql import command

# What importing and collecting make stays to the end: nothing of it is garbage to look for (pytest_collection_finish).
gc.disable()

# The same few examples every time, so that a run says whether the change is right; with HYPOTHESIS_PROFILE=search,
# which is `make test-search`, many others are looked for.
hypothesis.settings.register_profile(
    "same", derandomize=True, deadline=None, print_blob=True, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.register_profile(
    SEARCH,
    max_examples=examples(100),
    deadline=None,
    print_blob=True,
    suppress_health_check=list(hypothesis.HealthCheck),
)
hypothesis.settings.load_profile(PROFILE)

# What `make check` leaves out, and the seconds of CPU from which a test should be among it: twice what the mark says,
# since a busy machine takes that long.
LEFT_OUT = {"browser", "process", "slow", "alone"}
SLOW = 0.5

SITE = ROOT / "tests" / "site"

# It starts uname once in each process and keeps what that says; run records ask for it.
platform.processor()

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


def make_user(name: str) -> User:
    return User.objects.create_user(username=name, email=f"{name}@example.org", password="correct horse battery")


def make_items(project: Project, n: int) -> list[Item]:
    return Item.objects.bulk_create(Item(project=project, key=f"item-{i}", body=f"Text number {i}") for i in range(n))


def make_token(user: User, *scopes: str, now: datetime | None = None, **values) -> tuple[ApiToken, str]:
    """An access token, with every scope unless some are named, and its secret."""
    given = {"name": "A token", "project": None, "expires_at": None, "now": now or timezone.now(), **values}
    return create_token(user=user, scopes=list(scopes or ApiToken.Scope.values), **given)


def make_annotator(project: Project, name: str, **values) -> Annotator:
    return Annotator.objects.create(project=project, pseudonym=name, **{"source": Annotator.Source.LINK, **values})


def answer_one(
    annotator: Annotator, *, chosen: int | None = 0, outcome: str = "choice", now=NOW, seed=0, **more
) -> Label:
    """One whole step of an annotator: the next presentation, answered."""
    presentation = assignment.next_presentation(annotator=annotator, now=now, rng=random.Random(seed))
    return record_label(
        presentation=presentation, answer=Answer(outcome=outcome, chosen=chosen, response_ms=1200, **more), now=now
    )


def pytest_xdist_auto_num_workers() -> int:
    """Two processes more than cores for `-n auto`: tests wait for browsers, servers and workers that they started."""
    return (os.cpu_count() or 1) + 2


@pytest.hookimpl(tryfirst=True)  # before -m chooses
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as embedded what asks no database and starts no process, save where caches and live updates are tested."""
    for item in items:
        if item.path.is_relative_to(SITE) and item.path.parent.name not in ("core", "live"):
            asks = {"db", "transactional_db"} & set(getattr(item, "fixturenames", ()))
            if not asks and not any(item.get_closest_marker(mark) for mark in ("django_db", "process")):
                item.add_marker(pytest.mark.embedded)


def pytest_collection_finish() -> None:
    """Spare what stays until the end, the tests themselves, from being looked through for garbage again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20, 20)
    gc.enable()


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings_parallel_suffix, tmp_path_factory, pytestconfig) -> None:
    """SQLite in a file, as in production: the in-memory one fails at once where two threads meet at a table.

    The database is copied from one that was migrated before; with --create-db this process migrates a file of its own.
    On PostgreSQL a database for each checkout, so that two may run at once; what a killed run left is taken away.
    """
    database = connections["default"]
    test = database.settings_dict["TEST"]
    if database.vendor == "sqlite":
        file = tmp_path_factory.mktemp("database") / "test.sqlite3"
        copy_migrated(file)
        test["NAME"] = str(file)
    else:
        name = test["NAME"] or f"test_{database.settings_dict['NAME']}"
        test["NAME"] = f"{name}_{checkout()}"
        test["TEMPLATE"] = migrated_template(database.settings_dict)
        if not pytestconfig.getoption("reuse_db"):
            command(database.settings_dict, f"DROP DATABASE IF EXISTS {test['NAME']} WITH (FORCE)")


@pytest.fixture(scope="session")
def django_db_keepdb(django_db_keepdb) -> bool:
    """A copied file has every table already."""
    return django_db_keepdb or connection.vendor == "sqlite"


@pytest.fixture(scope="session", autouse=True)
def own_cache(worker_id) -> None:
    """Each process of a parallel run counts in a Redis database of its own, where Redis is in use."""
    default = django_settings.CACHES["default"]
    if django_settings.REDIS_URL and worker_id != "master":
        address, _, number = default["LOCATION"].rpartition("/")
        default["LOCATION"] = f"{address}/{int(number) + int(worker_id.removeprefix('gw'))}"
        caches["default"].close()
        del caches["default"]  # made while Django started, with the address as it was


# What Django writes after migrating, and would again whenever tables were emptied.
MADE_BY_MIGRATING = {"auth_permission", "django_content_type"}


def delete_rows(
    style, tables: Sequence[str], *, reset_sequences: bool = False, allow_cascade: bool = False
) -> list[str]:
    """Statements that empty these tables in one transaction, at whose end their references are checked."""
    assert not reset_sequences, "no test asks for it"
    return [f"DELETE FROM {connection.ops.quote_name(table)};" for table in tables if table not in MADE_BY_MIGRATING]


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup, django_db_blocker):
    """Tables are emptied row by row; at the end whoever still talks to PostgreSQL's database is sent away.

    It could not be dropped else. TRUNCATE makes new files of every table, of which most are empty after any test. And
    the admin's permissions, some hundreds of rows that no test changes, stay: Django would make them anew each time.
    """
    connection.ops.sql_flush = delete_rows
    flush.emit_post_migrate_signal = lambda *_: None
    yield
    with django_db_blocker.unblock():
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
                )


@pytest.fixture(autouse=True)
def no_process_unless_marked(request, monkeypatch) -> None:
    """Without the mark `process` a test belongs to `make check`, where starting one is too slow."""
    if request.node.get_closest_marker("process") or request.node.get_closest_marker("browser"):
        return

    def refuse(*args, **kwargs):
        pytest.fail("This test starts a process: mark it with pytest.mark.process.")

    monkeypatch.setattr(subprocess.Popen, "__init__", refuse)
    monkeypatch.setattr(BaseProcess, "start", refuse)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Note how much CPU the test took, which a busy machine changes less than how long it took."""
    start = time.process_time()
    try:
        return (yield)
    finally:
        item.user_properties.append(("cpu", time.process_time() - start))


def pytest_terminal_summary(terminalreporter) -> None:
    """Name the tests that `make check` had better leave out."""
    for report in terminalreporter.getreports("passed"):
        cpu = dict(report.user_properties).get("cpu", 0)
        if report.when == "call" and cpu > SLOW and not LEFT_OUT & set(report.keywords):
            terminalreporter.write_line(f"{cpu:.1f} s of CPU, but not marked slow: {report.nodeid}")


@pytest.fixture(scope="session", autouse=True)
def quick_settings() -> Iterator[None]:
    """Slow hashes protect real accounts; these are not. And static files are found when they are asked for.

    Otherwise every test's client lists all of them first, which takes longer than most requests.
    """
    hashers = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    with override_settings(PASSWORD_HASHERS=hashers, WHITENOISE_AUTOREFRESH=True):
        yield


def render_noted(template: Template, context: Context) -> str:
    """As Django's instrumented_test_render, but the parts of pages and the widgets of forms tell nobody.

    For each of them, a hundred a page, it copies all that the page knows, and tests ask for the page's own alone.
    """
    if context.template is template and not (template.name or "").startswith("django/forms/"):
        template_rendered.send(sender=template, template=template, context=context)
    return template.nodelist.render(context)


@pytest.fixture(scope="session", autouse=True)
def pages_alone_are_noted(django_test_environment) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Template, "_render", render_noted)
        yield


@pytest.fixture(autouse=True)
def own_language() -> None:
    """A request in another language leaves it to whatever its thread does next, which here is another test."""
    translation.deactivate()


@pytest.fixture(autouse=True)
def fresh_limits() -> None:
    """Rate limits count in the cache, which outlives a test."""
    cache.clear()


@pytest.fixture
def alice(db) -> User:
    return make_user("alice")


@pytest.fixture
def project(alice) -> Project:
    """Open, six items, every outcome allowed; with all members."""
    project = Project.objects.create(
        name="Convincing arguments",
        question="Which argument is more convincing?",
        state=Project.State.OPEN,
        outcomes=[str(outcome) for outcome in EXTRA_OUTCOMES],
        overlap=2,
    )
    Membership.objects.create(project=project, user=alice, role=Membership.Role.OWNER)
    make_items(project, 6)
    return project


def member(project: Project, name: str, role: str) -> User:
    user = make_user(name)
    Membership.objects.create(project=project, user=user, role=role)
    return user


@pytest.fixture
def manuel(project) -> User:
    return member(project, "manuel", Membership.Role.MANAGER)


@pytest.fixture
def bob(project) -> User:
    return member(project, "bob", Membership.Role.ANNOTATOR)


@pytest.fixture
def vera(project) -> User:
    return member(project, "vera", Membership.Role.VIEWER)


@pytest.fixture
def charlie(db) -> User:
    return make_user("charlie")


@pytest.fixture
def presentation(project) -> Presentation:
    annotator = make_annotator(project, "Quiet Otter")
    return assignment.next_presentation(annotator=annotator, now=NOW, rng=random.Random(1))


@pytest.fixture
def quick_draws(monkeypatch) -> None:
    """A seventh of the sweeps where tastes are drawn: for tests of what is done with a fit, or found by it.

    How exact draws are is a matter of tests/engine/inference, which compares more of them with integrals.
    """
    for name, n in {"MIN_WARM_UP": 100, "FEWEST_DRAWS": 200, "MOST_DRAWS": 200}.items():
        monkeypatch.setattr(f"models_engine.estimators.collaborative.sampled.{name}", n)
