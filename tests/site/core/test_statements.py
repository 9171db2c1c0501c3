"""Queries compiled once return what the plain query returns, with whatever values, in whatever thread."""

import threading

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.models import Count, F
from django.db.models.sql.compiler import SQLCompiler
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from annotate.core.statements import Given, InsertStatement, Statement, UpdateStatement
from annotate.models import Annotator, Item, ItemSet, Project
from tests.conftest import make_token

pytestmark = pytest.mark.django_db


def with_project() -> Statement:
    return Statement(
        lambda: (
            Annotator.objects.select_related("project")
            .defer("project__instructions")
            .filter(project=Given("project", Annotator))
            .order_by("pseudonym")
        )
    )


def two_annotators(pseudonyms: str = "ab") -> Project:
    project = Project.objects.create(name="Statements", question="Which?")
    for pseudonym in pseudonyms:
        Annotator.objects.create(project=project, pseudonym=pseudonym, excluded_at=timezone.now())
    return project


def test_instances_have_the_values_and_related_rows_of_the_plain_query():
    project, statement = two_annotators(), with_project()
    plain = Annotator.objects.select_related("project").defer("project__instructions")
    expected = list(plain.filter(project=project).order_by("pseudonym"))
    for _ in range(2):  # the first run compiles
        found = statement(project=project.pk)
        assert [vars(one)["excluded_at"] for one in found] == [one.excluded_at for one in expected]
        assert found == expected
        assert found[0].project == project
        assert found[0].project.get_deferred_fields() == {"instructions"}


def test_each_run_takes_its_own_values_and_reads_anew():
    statement, first, second = with_project(), two_annotators("ab"), two_annotators("cde")
    assert [one.pseudonym for one in statement(project=first.pk)] == ["a", "b"]
    assert [one.pseudonym for one in statement(project=second.pk)] == ["c", "d", "e"]
    Annotator.objects.create(project=first, pseudonym="z")
    assert [one.pseudonym for one in statement(project=first.pk)] == ["a", "b", "z"]


def test_a_run_is_one_statement():
    statement, project = with_project(), two_annotators()
    for _ in range(2):
        with CaptureQueriesContext(
            connection,
        ) as asked:
            statement(project=project.pk)
        assert len(asked) == 1


def test_another_request_of_the_api_compiles_nothing(project, alice, monkeypatch):
    """Who asks, by which token and in which role, which project: the same queries for everybody."""
    secret = make_token(alice)[1]
    compiled, compile_query = [], SQLCompiler.pre_sql_setup

    def noted(compiler, *args, **options):
        compiled.append(compiler.query.model)
        return compile_query(compiler, *args, **options)

    def ask() -> dict:
        url = reverse("api-project", args=[project.pk])
        return Client().get(url, headers={"Authorization": f"Bearer {secret}"}).json()

    first = ask()
    monkeypatch.setattr(SQLCompiler, "pre_sql_setup", noted)
    assert ask() == first
    assert compiled == []
    assert Project.objects.filter(pk=project.pk).exists()
    assert compiled == [Project]


def test_values_are_converted_as_by_the_plain_query():
    project = two_annotators()
    rows = Annotator.objects.filter(project=project).values_list("project_id", "key", "excluded_at")
    statement = Statement(
        lambda: Annotator.objects.filter(key=Given("key", Annotator)).values_list("project_id", "key", "excluded_at")
    )
    for row in rows:
        assert statement(key=row[1]) == [row]
        assert statement(key=str(row[1])) == [row]


def test_a_count_has_no_row_where_there_is_nothing():
    project = two_annotators("abc")
    count = Statement(
        lambda: (
            Annotator.objects.filter(
                project=Given("project", Annotator), excluded_at__lt=Given("now", Annotator, "excluded_at")
            )
            .values("project")
            .annotate(n=Count("pk"))
            .values_list("n", flat=True)
        )
    )
    assert count(project=project.pk, now=timezone.now()) == [3]
    assert count(project=Project.objects.create(name="Statements", question="Which?").pk, now=timezone.now()) == []


def test_an_update_changes_the_named_rows_by_the_given_number():
    project = Project.objects.create(name="Statements", question="Which?")
    one, other = (Item.objects.create(project=project, key=key, body=key, n_taken=3) for key in "ab")
    change = UpdateStatement(
        lambda: Item.objects.filter(pk__in=[Given("item", Item, "id")], n_taken__lt=Given("limit", Item, "n_taken")),
        n_taken=F("n_taken") + Given("n", Item, "n_taken"),
    )
    assert change(item=one.pk, limit=10, n=2) == 1
    assert change(item=one.pk, limit=10, n=-1) == 1
    assert change(item=one.pk, limit=4, n=5) == 0
    assert list(Item.objects.filter(project=project).order_by("key").values_list("n_taken", flat=True)) == [4, 3]
    assert Item.objects.get(pk=other.pk).n_taken == 3


def test_an_inserted_row_is_that_of_create():
    project, insert = two_annotators(""), InsertStatement(ItemSet)
    for n in range(3):  # the first run compiles
        values = {"project": project, "n_taken": n, "shuffle": n / 7}
        kept, plain = insert(ItemSet(key=f"‘{n}’ %s", **values)), ItemSet.objects.create(key=f"plain {n}", **values)
        stored, expected = (ItemSet.objects.filter(pk=one.pk).values()[0] for one in (kept, plain))
        assert {name for name in stored if stored[name] != expected[name]} == {"id", "key"}
        assert stored["key"] == f"‘{n}’ %s"
        assert not kept._state.adding
        kept.n_taken = 9
        kept.save()
        assert ItemSet.objects.get(pk=kept.pk).n_taken == 9
    assert project.item_sets.count() == 6


def test_many_rows_are_inserted_by_one_statement_in_their_order(django_assert_num_queries):
    project, insert = two_annotators(""), InsertStatement(ItemSet)
    for keys in ("abc", "de", "fgh"):  # the first of each number compiles
        rows = [ItemSet(project=project, key=key) for key in keys]
        with django_assert_num_queries(1):
            insert.many(rows)
        assert [ItemSet.objects.get(pk=row.pk).key for row in rows] == list(keys)
        assert not any(row._state.adding for row in rows)
    assert "".join(project.item_sets.order_by("pk").values_list("key", flat=True)) == "abcdefgh"


def test_an_insert_that_breaks_a_rule_leaves_nothing_and_the_next_one_works():
    project, insert = two_annotators(""), InsertStatement(ItemSet)
    insert(ItemSet(project=project, key="a"))
    with pytest.raises(IntegrityError), transaction.atomic():
        insert(ItemSet(project=project, key="a"))
    assert insert(ItemSet(project=project, key="b")).pk == project.item_sets.get(key="b").pk
    assert project.item_sets.count() == 2


def test_an_insert_whose_columns_the_database_fills_is_refused():
    with pytest.raises(TypeError, match="Annotator"):
        InsertStatement(Annotator)(Annotator(project=two_annotators("")))


def test_a_missing_value_is_refused_by_name():
    with pytest.raises(KeyError, match="project"):
        with_project()()


@pytest.mark.django_db(transaction=True)
def test_threads_that_run_it_at_once_do_not_mix_their_values():
    projects = [two_annotators("ab"), two_annotators("cde")]
    statement, wrong, start = with_project(), [], threading.Barrier(2)

    def ask(project: Project, expected: list[str]) -> None:
        start.wait()
        try:
            for _ in range(50):
                found = [one.pseudonym for one in statement(project=project.pk)]
                if found != expected:
                    wrong.append(found)
        finally:
            connection.close()

    threads = [
        threading.Thread(target=ask, args=(project, list(names)))
        for project, names in zip(projects, ("ab", "cde"), strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
