"""Ten heavy pages of one project asked for again and again: another project's answers are served in between."""

import pytest
from django.conf import settings

from tests.faults.shares import PAGES, measure_shares
from tests.load.database import environment, own_database
from tests.load.servers import free_port, wait_until_it_answers, web

pytestmark = [pytest.mark.process, pytest.mark.alone]


@pytest.fixture
def site(tmp_path, django_db_blocker):
    with django_db_blocker.unblock(), own_database(tmp_path) as url:
        port = free_port()
        served = web({**environment(url, tmp_path), "SECRET_KEY": settings.SECRET_KEY}, port, tmp_path)
        served.start()
        try:
            wait_until_it_answers(port, 180)
            yield port
        finally:
            served.stop()


def test_anothers_answers_hardly_notice_ten_heavy_pages(site):
    """An answer waits for no more pages than the ten that are asked for, whatever the machine is busy with.

    Without shares it waits behind all ten again and again. Who has a thread:
    tests/site/operations/test_thread_shares.py; the milliseconds: `python -m tests.faults shares`.
    """
    found = measure_shares(site)
    print(f"\n{found}")
    assert found.statuses == {200}, "all of them come, one after another"
    assert found.most_pages_in_an_answer <= PAGES
