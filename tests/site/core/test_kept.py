"""Parts of pages that a process keeps: rendered once for each language and values, and never more than so many."""

import pytest
from django.template import Context, Template
from django.utils.translation import override

from annotate.labelling.keys.bindings import Keys
from annotate.templatetags import kept

pytestmark = pytest.mark.embedded


def counted():
    calls = []

    def count():
        calls.append(1)
        return len(calls)

    return count


def test_a_part_is_rendered_once_for_each_language_and_values():
    page = Template("{% load kept %}{% kept one two %}{{ count }}:{{ one }}{% endkept %}")
    count = counted()

    def shown(one, two):
        return page.render(Context({"one": one, "two": two, "count": count}))

    assert [shown("a", 1), shown("a", 1), shown("a", 2), shown("b", 1), shown("a", 1)] == [
        "1:a",
        "1:a",
        "2:a",
        "3:b",
        "1:a",
    ]
    with override("de"):
        assert shown("a", 1) == "4:a"
    assert shown("a", 1) == "1:a"


def test_what_people_wrote_is_escaped_once():
    page = Template("{% load kept %}{% kept words %}{{ words }}{% endkept %}")
    assert [page.render(Context({"words": "<b> & c"})) for _ in range(2)] == ["&lt;b&gt; &amp; c"] * 2


def test_a_part_keeps_only_so_many_texts(monkeypatch):
    monkeypatch.setattr(kept, "MOST", 3)
    page = Template("{% load kept %}{% kept one %}{{ one }}{% endkept %}")
    [node] = page.nodelist.get_nodes_by_type(kept.KeptNode)
    for number in range(10):
        assert page.render(Context({"one": number})) == str(number)
        assert len(node.texts) <= 3


def test_keys_are_told_apart_by_what_was_chosen_and_not_by_its_order():
    assert Keys({"1": "x", "2": "y"}).bound == Keys({"2": "y", "1": "x"}).bound
    assert len({Keys().bound, Keys({"1": "x"}).bound, Keys({"1": "y"}).bound, Keys(pair=True).bound}) == 4
