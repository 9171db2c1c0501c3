"""Databases on the PostgreSQL in use, made, listed and dropped over a connection of their own."""

import psycopg


def address(settings: dict, name: str) -> str:
    return f"postgres://{settings['USER']}:{settings['PASSWORD']}@{settings['HOST']}:{settings['PORT']}/{name}"


def command(settings: dict, statement: str) -> None:
    with psycopg.connect(address(settings, "postgres"), autocommit=True) as connection:
        connection.execute(statement)


def databases_named(settings: dict, start: str) -> list[str]:
    """The names of the databases that begin so."""
    with psycopg.connect(address(settings, "postgres")) as connection:
        found = connection.execute("SELECT datname FROM pg_database WHERE starts_with(datname, %s)", [start]).fetchall()
    return [name for (name,) in found]
