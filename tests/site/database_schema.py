"""Describes the tables of a database, to compare two ways of making them."""

from django.apps import apps
from django.db import connection


def tables() -> dict[str, list]:
    """Return every table's columns and constraints, in no order; names only where they are ours to give."""
    ours = {constraint.name for model in apps.get_models() for constraint in model._meta.constraints}
    with connection.cursor() as cursor:
        look = connection.introspection
        return {
            name: [
                sorted([c.name, str(c.type_code), bool(c.null_ok)] for c in look.get_table_description(cursor, name)),
                sorted(
                    [
                        key if found["check"] and key in ours else "",
                        sorted(name or "expression" for name in found["columns"] or ()),
                        str(found["foreign_key"]),
                        *(bool(found[kind]) for kind in ("primary_key", "unique", "index", "check")),
                    ]
                    for key, found in look.get_constraints(cursor, name).items()
                ),
            ]
            for name in look.table_names(cursor)
        }
