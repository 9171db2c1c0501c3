"""One site for all tests of this folder, on the database in use: served by its own server, with DEBUG off."""

import pytest
from django.conf import settings
from django.test import Client

from annotate.models import FitState, Item, Membership, Project, User
from tests.attack.served.site import Served, picture
from tests.conftest import make_items, make_token
from tests.load.database import as_default, own_database, production_environment
from tests.load.servers import free_port, wait_until_it_answers, web


@pytest.fixture(scope="package")
def site(tmp_path_factory, django_db_blocker):
    folder = tmp_path_factory.mktemp("served")
    with django_db_blocker.unblock(), own_database(folder) as url:
        port = free_port()
        env = production_environment(url, folder) | {"SECRET_KEY": settings.SECRET_KEY}
        env |= {"RATE_LIMIT_API": "100000/min", "RATE_LIMIT_IMPORT": "100000/min"}
        env |= {"ALLOWED_HOSTS": "127.0.0.1", "LOG_LEVEL": "ERROR"}
        with as_default():
            project, session, secret = filled()
        items = folder / "media" / "items"
        items.mkdir(parents=True)
        (items / "picture.png").write_bytes(picture())
        process = web(env, port, folder)
        process.start()
        try:
            wait_until_it_answers(port, 180)
            yield Served(port, folder, process.log, str(project.pk), project.join_token, session, secret, process)
        finally:
            process.stop()
        assert "Internal Server Error" not in process.log.read_text(), process.log.read_text()[-5000:]


def filled() -> tuple[Project, str, str]:
    """A project with a picture, the key of its owner's session and the secret of a token."""
    owner = User.objects.create_user("alice", "alice@example.org", "correct horse battery")
    project = Project.objects.create(name="Arguments", question="Which convinces more?", state="open")
    Membership.objects.create(project=project, user=owner, role="owner")
    FitState.objects.create(project=project)
    make_items(project, 4)
    Item.objects.create(project=project, key="picture", kind="image", body="A picture", media="items/picture.png")
    browser = Client()
    browser.force_login(owner)
    return project, browser.cookies[settings.SESSION_COOKIE_NAME].value, make_token(owner)[1]
