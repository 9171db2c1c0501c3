"""What parts of pages that are kept for everybody read: nothing but the values that they are kept by.

A part that reads more than that would show one person's page to another.
"""

from pathlib import Path

import pytest
from django.conf import settings
from django.template import engines
from django.template.base import Node, NodeList, Variable
from django.template.defaulttags import CsrfTokenNode, ForNode, URLNode, WithNode
from django.template.loader_tags import IncludeNode
from django.templatetags.i18n import BlockTranslateNode

from annotate.templatetags.kept import KeptNode

pytestmark = pytest.mark.embedded

TEMPLATES = Path(settings.BASE_DIR) / "templates"
# What a part may read besides: it follows from the value beside it.
FOLLOWS = {
    "option.value": "option.letter",
    "option.place": "option.letter",
    "task.keys": "task.keys.bound",
    "task.options": "task.choices",
    "task.n_done": "task.n_done|yesno",
    "task.stop": "task.stop|yesno",
}
SAME_FOR_ALL = {"forloop", "class", "name"}  # of the loop; of icons, given where they are included


def templates_that_keep() -> list[str]:
    return sorted(
        str(path.relative_to(TEMPLATES)) for path in TEMPLATES.rglob("*.html") if "{% kept " in path.read_text()
    )


def nodes_of(nodelist: NodeList) -> list[Node]:
    """Return every node below, those of included templates too."""
    nodes = nodelist.get_nodes_by_type(Node)
    for include in [node for node in nodes if isinstance(node, IncludeNode)]:
        assert isinstance(include.template.var, str), "a part that is kept includes templates by their names alone"
        nodes += nodes_of(engines["django"].get_template(include.template.var).template.nodelist)
    return nodes


def variables_in(value: object, seen: set[int]) -> list[str]:
    """Return the variables that an object of the template engine holds, but for those of nodes below it."""
    if id(value) in seen or isinstance(value, NodeList):
        return []
    seen.add(id(value))
    if isinstance(value, Variable):
        return [str(value.var)] if value.lookups else []
    if isinstance(value, dict):
        return [name for one in value.values() for name in variables_in(one, seen)]
    if isinstance(value, list | tuple):
        return [name for one in value for name in variables_in(one, seen)]
    if not type(value).__module__.startswith(("django.template", "annotate.templatetags")):
        return []
    attributes = [*getattr(value, "__dict__", {}), *getattr(type(value), "__slots__", ())]
    return [name for key in attributes if key != "origin" for name in variables_in(getattr(value, key), seen)]


def names_given(node: Node) -> set[str]:
    """Return the names that a node gives to what is below it."""
    match node:
        case ForNode():
            return set(node.loopvars)
        case WithNode() | IncludeNode():
            return set(node.extra_context)
        case BlockTranslateNode():
            return {*node.extra_context, node.countervar or ""}
        case URLNode():
            return {node.asvar or ""}
    return {getattr(node, "target_var", None) or ""}


@pytest.mark.parametrize("name", templates_that_keep())
def test_a_part_reads_only_what_it_is_kept_by(name):
    template = engines["django"].get_template(name).template
    parts = template.nodelist.get_nodes_by_type(KeptNode)
    assert parts
    for part in parts:
        kept_by = {value.token for value in part.values}
        nodes = nodes_of(part.nodelist)
        assert not [node for node in nodes if isinstance(node, CsrfTokenNode)]
        given = {"", *SAME_FOR_ALL}.union(*(names_given(node) for node in nodes))
        read = {variable for node in nodes for variable in variables_in(node, set())}
        unknown = {
            variable
            for variable in read
            if variable.partition(".")[0] not in given and not {variable, FOLLOWS.get(variable)} & kept_by
        }
        assert not unknown, f"{name}: {sorted(unknown)}"
