"""Regular expressions: none takes longer than its text is long, whatever the text is.

Every expression of the site and the engine is read from its source and attacked: what stands before one of its
repetitions, then what that repeats, many thousand times, then something that fits nowhere.
"""

import ast
import re
import re._constants as kinds
import re._parser as parser
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from tests.attack.cpu import TooLongError, limited_cpu
from tests.paths import ROOT

pytestmark = [pytest.mark.embedded, pytest.mark.slow]
N = 20_000
SECONDS = 0.5  # of CPU; what is linear takes a few thousandths
PROBES = " \t\n\r,;:.#=|-_/\\<>()[]{}\"'aAzZ09\xff"
MANY = 50  # repetitions from which on their number can grow
CALLS = {"compile", "search", "match", "fullmatch", "sub", "split", "finditer", "findall", "subn"}


def sources() -> list[Path]:
    return [path for part in ("annotate", "models_engine") for path in sorted((ROOT / part).rglob("*.py"))]


def expressions() -> dict[str, tuple[re.Pattern, set[str]]]:
    """All that modules keep, and all that stand where they are used; with the methods that ask them."""
    found: dict[str, tuple[re.Pattern, set[str]]] = {}
    texts = {path: path.read_text() for path in sources() if "migrations" not in path.parts}
    for path, text in texts.items():
        if "import re\n" not in text:
            continue
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for key, value in vars(import_module(name)).items():
            if isinstance(value, re.Pattern):
                used = re.findall(rf"\b{key}\.(\w+)\(", "\n".join(texts.values()))
                found[f"{name}: {key}"] = value, set(used) & CALLS or {"search"}
        for node in ast.walk(ast.parse(text)):
            if is_call(node) and node.func.attr != "compile" and isinstance(node.args[0], ast.Constant):
                found[f"{name}: line {node.lineno}"] = re.compile(node.args[0].value), {node.func.attr}
    return found


def is_call(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr not in CALLS:
        return False
    return isinstance(node.func.value, ast.Name) and node.func.value.id == "re"


def fits(one: tuple) -> list[str]:
    """The probes that one element of an expression takes."""
    if one[0] is kinds.LITERAL:
        return [chr(one[1])]
    if one[0] is kinds.ANY:
        return [probe for probe in PROBES if probe != "\n"]
    if one[0] is kinds.NOT_LITERAL:
        return [probe for probe in PROBES if ord(probe) != one[1]]
    return [probe for probe in PROBES if in_class(one[1], probe)]


CATEGORIES = {
    kinds.CATEGORY_SPACE: str.isspace,
    kinds.CATEGORY_DIGIT: str.isdigit,
    kinds.CATEGORY_WORD: lambda c: c.isalnum() or c == "_",
}
NEGATED = {
    kinds.CATEGORY_NOT_SPACE: kinds.CATEGORY_SPACE,
    kinds.CATEGORY_NOT_DIGIT: kinds.CATEGORY_DIGIT,
    kinds.CATEGORY_NOT_WORD: kinds.CATEGORY_WORD,
}


def in_class(members: list, probe: str) -> bool:
    inside, negated = False, False
    for kind, value in members:
        if kind is kinds.NEGATE:
            negated = True
        elif kind is kinds.LITERAL:
            inside |= ord(probe) == value
        elif kind is kinds.RANGE:
            inside |= value[0] <= ord(probe) <= value[1]
        elif value in NEGATED:
            inside |= not CATEGORIES[NEGATED[value]](probe)
        else:
            inside |= CATEGORIES[value](probe)
    return inside != negated


def attacks(elements, before: str) -> Iterator[tuple[str, str]]:
    """What stands before each repetition, and what it repeats; returns an example of the whole as its value."""
    for kind, value in elements:
        if kind in (kinds.MAX_REPEAT, kinds.MIN_REPEAT, kinds.POSSESSIVE_REPEAT):
            least, most, inner = value
            once = yield from attacks(inner, before)
            if most > MANY:
                yield from ((before, probe) for one in inner for probe in repeated(one))
                yield before, once.removeprefix(before)
            before = once if least else before
        elif kind is kinds.SUBPATTERN:
            before = yield from attacks(value[-1], before)
        elif kind is kinds.BRANCH:
            ends = []
            for branch in value[1]:
                ends.append((yield from attacks(branch, before)))
            before = ends[0]
        elif kind in (kinds.LITERAL, kinds.NOT_LITERAL, kinds.ANY, kinds.IN):
            before += (fits((kind, value)) or [""])[0]
    return before


def repeated(one: tuple) -> list[str]:
    return fits(one) if one[0] in (kinds.LITERAL, kinds.NOT_LITERAL, kinds.ANY, kinds.IN) else []


def too_slow(expression: re.Pattern, used: set[str]) -> str:
    """The text for which it takes too long, asked as it is; empty where none was found."""
    tried, anchored = set(), used <= {"match", "fullmatch"}
    for before, again in attacks(parser.parse(expression.pattern, expression.flags), ""):
        for text in {before + again * N + end for end in ("", "\0")} | {(before + again) * N}:
            if again and (text[:50], text[-1]) not in tried and len(text) < 4 * N * 10:
                tried.add((text[:50], text[-1]))
                given = text if isinstance(expression.pattern, str) else text.encode("latin1", "replace")
                try:
                    with limited_cpu(SECONDS):
                        if anchored:
                            expression.match(given)
                            expression.fullmatch(given)
                        else:
                            expression.sub(lambda match: match[0], given)
                except TooLongError:
                    return repr(text[:20]) + f", {again!r} repeated"
    return ""


def test_the_attack_finds_what_is_slow():
    for slow in (r"\s+$", r"(a+)+b", r"\s*[,\s]\s*\d", r"<a(.*?)>b", r"\n\n\s*(User|Bot):"):
        assert too_slow(re.compile(slow), {"search"}), slow
    for quick in (r"\s+", r"^a+b", r"[a-z]{1,20}-", r"[^<>]+"):
        assert not too_slow(re.compile(quick), {"search"}), quick


def test_no_expression_takes_longer_than_its_text_is_long():
    found = expressions()
    assert len(found) > 40
    slow = {name: text for name, one in found.items() if (text := too_slow(*one))}
    assert not slow, slow
