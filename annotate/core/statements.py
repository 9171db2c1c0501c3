"""Compiles a query once and runs it with other values: building and compiling it takes longer than running it.

For the few queries that every answer runs (docs/adr/0021). Such a query is written like any other, with `Given` in
place of what changes:

    by_token = Statement(lambda: Presentation.objects.filter(token=Given("token", Presentation)))
    by_token(token=token)
"""

from collections.abc import Callable, Sequence
from itertools import chain
from threading import local
from typing import Any, Generic, TypeVar

from django.db import DEFAULT_DB_ALIAS, connections, router
from django.db.models import Model, QuerySet, Value
from django.db.models.sql import InsertQuery, UpdateQuery
from django.db.models.sql.constants import ROW_COUNT
from django.db.transaction import mark_for_rollback_on_error

M = TypeVar("M", bound=Model)


class Given(Value):
    """A value by its name, which is that of its column unless said otherwise."""

    def __init__(self, name: str, model: type[Model], column: str = "") -> None:
        self.name = name
        super().__init__(None, output_field=model._meta.get_field(column or name))  # type: ignore[arg-type]

    def as_sql(self, compiler: Any, connection: Any) -> Any:
        return "%s", [self]


class Compiled:
    """A query whose SQL is ready, for one connection."""

    def __init__(self, query: Any, using: str) -> None:
        self.compiler = compiler = query.get_compiler(using=using)
        self.connection = compiler.connection
        self.sql, self.params = compiler.as_sql()
        self.bound: tuple[Any, ...] = ()
        # Whatever runs a query asks it for its compiler, and that for its SQL and for what turns columns into values.
        compiler.as_sql = lambda *_args, **_options: (self.sql, self.bound)
        query.get_compiler = lambda *_args, **_options: compiler
        if hasattr(compiler, "select") and compiler.select:
            converters = compiler.get_converters([column[0] for column in compiler.select])
            compiler.get_converters = lambda _columns: converters

    def bind(self, values: dict[str, Any]) -> None:
        self.bound = tuple(self.stored(param, values) if isinstance(param, Given) else param for param in self.params)

    def stored(self, param: Given, values: dict[str, Any]) -> Any:
        return param.output_field.get_db_prep_value(values[param.name], self.connection)


class Statement:
    """A query; calling it with its values by name returns its rows, newly read.

    `build` returns it as any queryset: of instances or values, with related rows, annotations, an order and a limit.
    It is compiled once by each thread, for the connection that the thread has.
    """

    def __init__(self, build: Callable[[], QuerySet[Any]]) -> None:
        self.build = build
        self.thread = local()

    def __call__(self, **values: Any) -> list[Any]:
        compiled: Compiled | None = getattr(self.thread, "compiled", None)
        if compiled is None or compiled.connection is not connections[DEFAULT_DB_ALIAS]:
            rows = self.build()
            compiled = self.thread.compiled = Compiled(rows.query, rows.db)
            self.thread.rows = rows._iterable_class(rows)
        compiled.bind(values)
        return list(self.thread.rows)


class UpdateStatement:
    """An UPDATE of these rows; calling it with its values by name returns how many rows it changed."""

    def __init__(self, build: Callable[[], QuerySet[Any]], **changes: Any) -> None:
        self.build = build
        self.changes = changes
        self.thread = local()

    def __call__(self, **values: Any) -> int:
        compiled: Compiled | None = getattr(self.thread, "compiled", None)
        if compiled is None or compiled.connection is not connections[DEFAULT_DB_ALIAS]:
            rows = self.build()
            query: Any = rows.query.chain(UpdateQuery)
            query.add_update_values(self.changes)
            compiled = self.thread.compiled = Compiled(query, rows.db)
        compiled.bind(values)
        n_changed: int = compiled.compiler.execute_sql(ROW_COUNT)
        return n_changed


class CompiledInsert:
    """An INSERT of so many rows of a model, whose SQL is ready, for one connection."""

    def __init__(self, model: type[Model], using: str, n_rows: int) -> None:
        self.using, self.meta = using, (meta := model._meta)
        self.fields = [field for field in meta.local_concrete_fields if field is not meta.auto_field]
        if any(field.generated or (field.has_db_default() and not field.has_default()) for field in self.fields):
            raise TypeError(f"{meta.label} leaves columns to the database; insert it as any other model.")
        query = InsertQuery(model)
        query.insert_values(self.fields, [model() for _row in range(n_rows)])
        self.compiler: Any = query.get_compiler(using=using)
        self.connection = self.compiler.connection
        self.compiler.returning_fields = meta.db_returning_fields
        [(self.sql, params)] = self.compiler.as_sql()
        # PostgreSQL takes several rows as one array for each column.
        self.by_column = len(params) - len(self.compiler.returning_params) < n_rows * len(self.fields)
        self.bound: tuple[Any, ...] = ()
        self.compiler.as_sql = lambda: [(self.sql, self.bound)]

    def run(self, instances: Sequence[Model]) -> None:
        rows = [
            [field.get_db_prep_save(field.pre_save(instance, True), self.connection) for field in self.fields]
            for instance in instances
        ]
        values = map(list, zip(*rows, strict=True)) if self.by_column else chain.from_iterable(rows)
        self.bound = (*values, *self.compiler.returning_params)
        with mark_for_rollback_on_error(using=self.using):
            returned = self.compiler.execute_sql(self.meta.db_returning_fields)
        for instance, row in zip(instances, returned, strict=True):
            for field, value in zip(self.meta.db_returning_fields, row, strict=True):
                setattr(instance, field.attname, value)
            instance._state.adding, instance._state.db = False, self.using


class InsertStatement(Generic[M]):
    """An INSERT; calling it with a new instance stores that and returns it with its key.

    No signals are sent, and no column may be left to the database. It is compiled once for each number of rows.
    """

    def __init__(self, model: type[M]) -> None:
        self.model = model
        self.thread = local()

    def __call__(self, instance: M) -> M:
        self.many([instance])
        return instance

    def many(self, instances: Sequence[M]) -> None:
        """Store new instances, at least one, in one statement."""
        kept: dict[int, CompiledInsert] = self.thread.__dict__.setdefault("compiled", {})
        compiled = kept.get(n := len(instances))
        if compiled is None or compiled.connection is not connections[DEFAULT_DB_ALIAS]:
            compiled = kept[n] = CompiledInsert(self.model, router.db_for_write(self.model), n)
        compiled.run(instances)
