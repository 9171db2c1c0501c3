"""Connections of the pool to PostgreSQL: one that died is not given to a request."""

import pytest
from django.db import connection
from django.db.utils import load_backend


@pytest.mark.django_db
def test_a_connection_that_the_server_ended_fails_nobody():
    if connection.vendor != "postgresql":
        pytest.skip("only connections to PostgreSQL are pooled")
    pooled = load_backend(connection.settings_dict["ENGINE"]).DatabaseWrapper(
        {**connection.settings_dict, "OPTIONS": {"pool": {"min_size": 1, "max_size": 1, "timeout": 20}}}, "pooled"
    )
    try:
        first = backend_of(pooled)
        pooled.close()  # back to the pool, as at the end of a request
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(%s)", [first])
        assert backend_of(pooled) != first
    finally:
        pooled.close()
        pooled.close_pool()


def backend_of(database) -> int:
    with database.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return cursor.fetchone()[0]
