"""A served site with one project in which there is some of everything that the API can be asked for."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from django.utils import timezone

from annotate.accounts.actions import create_token
from annotate.models import ApiToken, FitState, Membership, Project, ResultsLink, Tag, User
from tests.conftest import make_annotator, make_items
from tests.load.database import as_default, own_database, production_environment
from tests.load.servers import free_port, wait_until_it_answers, web
from tests.site.factories import make_labels, spread_fit


@dataclass(frozen=True)
class Site:
    schema: str
    secret: str
    project: str


@contextmanager
def served(folder: Path) -> Iterator[Site]:
    """Serves it with DEBUG off, so that an error is the page that strangers see; its log is printed where it failed."""
    with own_database(folder) as url:
        port = free_port()
        env = production_environment(url, folder) | {"RATE_LIMIT_API": "1000000/min"}
        env |= {"RATE_LIMIT_EXPORT": "1000000/min", "RATE_LIMIT_IMPORT": "1000000/min", "LOG_LEVEL": "ERROR"}
        env |= {"ALLOWED_HOSTS": "127.0.0.1", "EMAIL_URL": "dummymail://"}  # what was answered is printed, no mails
        with as_default():
            secret, project = filled()
        site = web(env, port, folder)
        site.start()
        try:
            wait_until_it_answers(port, 180)
            yield Site(f"http://127.0.0.1:{port}/api/schema/", secret, str(project.pk))
        finally:
            site.stop()
            said = [line for line in site.log.read_text().splitlines() if " WARNING django.request" not in line]
            print("\n".join(said[-200:]), flush=True)


def filled() -> tuple[str, Project]:
    """Returns the secret of an owner's token and the project."""
    owner = User.objects.create_user("alice", "alice@example.org", "correct horse battery")
    project = Project.objects.create(name="Arguments", question="Which convinces more?", state="open", overlap=3)
    Membership.objects.create(project=project, user=owner, role="owner")
    FitState.objects.create(project=project)
    items = make_items(project, 8)
    items[0].tags.add(Tag.objects.create(project=project, name="pilot"))
    make_labels(project, [make_annotator(project, f"Otter {n}") for n in range(3)], 30)
    spread_fit(project, list(project.items.order_by("pk")))
    ResultsLink.objects.create(project=project, made_at=timezone.now())
    scopes = list(ApiToken.Scope.values)
    _, secret = create_token(
        user=owner, name="Fuzzing", scopes=scopes, project=None, expires_at=None, now=timezone.now()
    )
    return secret, project
