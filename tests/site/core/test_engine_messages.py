"""What the engine says of a fit is read in the reader's language: every estimator's words, and those of its errors."""

import ast
import json
import re
import warnings
from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from html import unescape
from typing import get_args, get_type_hints

import numpy as np
import pytest
from django.urls import reverse
from django.utils import translation

from annotate.core.stored_messages import render_message, store_engine_message, store_error
from annotate.criteria import Criterion
from annotate.fitting.run import CriterionFailed
from models_engine.errors import InsufficientData, InvalidData, NotConverged, Unsupported
from models_engine.estimators.table import ESTIMATORS
from models_engine.messages import Message
from tests.engine.simulated_data import QUICK, labels_of_every_kind, some_pairs
from tests.paths import ROOT
from tests.site.factories import spread_fit
from tests.site.pages import signed_in

pytestmark = pytest.mark.embedded
LANGUAGES = ["de", "es", "fr"]
# Ends a fit before it has converged, for whichever of them an estimator has.
IMPATIENT = {"max_iterations": 1, "max_steps": 1, "epochs": 1, "tolerance": 1e-14, "n_draws": 30, "n_burn_in": 1}


def ways_of(name: str) -> Iterator[dict]:
    """The settings of each way in which the estimator can work, patient and impatient."""
    estimator = ESTIMATORS[name].estimator
    known, hints = {one.name for one in fields(estimator)}, get_type_hints(estimator)
    quick = QUICK.get(name, {}) | {key: 60 for key in ("n_draws", "n_burn_in") if key in known}
    for inference in get_args(hints["inference"]) if "inference" in known else [None]:
        chosen = quick | ({"inference": inference} if inference else {})
        yield chosen
        yield chosen | {key: value for key, value in IMPATIENT.items() if key in known}


@cache
def said_by(name: str) -> tuple[str, ...]:
    """What the estimator says, of pairs and of answers of every kind, in each of its ways."""
    found = []
    for data in (some_pairs(n_labels=60), labels_of_every_kind()):
        for settings in ways_of(name):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", NotConverged)
                try:
                    estimator = ESTIMATORS[name].estimator(**settings)
                    posterior = estimator.fit(data, rng=np.random.default_rng(0))
                except InsufficientData as error:
                    found.append(store_error(error))
                else:
                    found.append(store_engine_message(posterior.diagnostics.message))
    return tuple(dict.fromkeys(found))


@cache
def marked_texts() -> tuple[str, ...]:
    """Every text of the engine that is marked for translation."""
    found = []
    for path in sorted((ROOT / "models_engine").rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(source)) if "gettext_noop" in source else ():
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "gettext_noop":
                found.append(ast.literal_eval(node.args[0]))
    return tuple(found)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_text_of_the_engine_is_translated(language):
    texts = marked_texts()
    assert len(texts) > 40
    with translation.override(language):
        assert [text for text in texts if translation.gettext(text) == text] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ESTIMATORS)
def test_no_estimator_says_anything_in_english(name):
    marked = set(marked_texts())
    for stored in said_by(name):
        parts = json.loads(stored)["parts"]
        assert {msgid for msgid, _ in parts} <= marked
        for language in LANGUAGES:
            with translation.override(language):
                told = render_message(stored)
            assert [msgid for msgid, arguments in parts if msgid % arguments in told] == []


@pytest.mark.slow  # two whole pages
def test_the_pages_of_a_german_show_every_text_of_the_engine_in_german(project, alice):
    """All in one message, so that each page is asked for once; what estimators say are these texts (see above)."""
    owner, fit = signed_in(alice), spread_fit(project, list(project.items.all()))
    each = [Message.of(text, **dict.fromkeys(re.findall(r"%\((\w+)\)", text), 7)) for text in marked_texts()]
    stored = store_engine_message(Message.joined(*each))
    type(fit).objects.filter(pk=fit.pk).update(message=stored, converged=False)
    with translation.override("de"):
        german = render_message(stored)
    for page in ("engine", "trust"):
        html = owner.get(reverse(page, args=[project.pk]), headers={"Accept-Language": "de"}).content.decode()
        assert german in unescape(html), page
        assert "{&quot;" not in html


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    ("error", "quoted"),
    [
        (InvalidData("a b"), "a b"),
        (Unsupported("a b"), "a b"),
        (np.linalg.LinAlgError("a b"), "LinAlgError: a b"),
        (ValueError(), "ValueError: "),
    ],
)
def test_an_error_that_nobody_wrote_for_readers_stands_in_a_sentence_of_their_language(error, quoted, language):
    stored = store_error(error)
    with translation.override("en"):
        assert render_message(stored).endswith(f"The error, in English: {quoted}")
    with translation.override(language):
        told = render_message(stored)
    assert told.endswith(quoted)
    assert "English" not in told
    assert store_engine_message(stored) == stored  # as in an evaluation, where the engine hands on the text alone


def raised_texts(names: set[str]) -> Iterator[tuple[str, ast.expr]]:
    """Where estimators raise one of these errors, and with what."""
    for path in [*(ROOT / "models_engine/estimators").rglob("*.py"), ROOT / "models_engine/linalg.py"]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and ast.unparse(node.exc.func) in names:
                yield f"{path.name}:{node.lineno}", node.exc.args[0]


def test_what_an_owner_can_mend_is_said_in_every_language():
    """Too few or too many answers come of what an owner does; other errors of the engine are a programmer's."""
    found = dict(raised_texts({"InsufficientData", "TooLarge"}))
    read = {place.partition(":")[0] for place in found}
    assert read >= {"angle_based.py", "choosing.py", "competitor_table.py", "competitors.py", "linalg.py"}
    assert {place for place, text in found.items() if not ast.unparse(text).startswith("Message.")} == set()


def test_numbers_have_the_decimal_sign_of_the_language():
    kept = store_engine_message(
        Message.of("largest step below %(tolerance)s", tolerance="1.5e-08", n="3 of 1.5", name="2.5")
    )
    with translation.override("de"):
        assert "1,5e-08" in render_message(kept)
    both = store_engine_message(Message.joined(Message.of("%(name)s %(n)s", name="2.5", n="2.5"), "LinAlgError: 5.5%"))
    with translation.override("fr"):
        assert render_message(both) == "2.5 2,5; LinAlgError: 5.5%"


def test_a_criterion_that_failed_is_named_with_the_engines_words(project):
    project.criteria = [{"name": "Clarity", "question": ""}, {"name": "2.5", "question": ""}]
    told = Message.of("largest step below %(tolerance)s", tolerance="0.5")
    stored = store_error(CriterionFailed(Criterion(project, 2), InsufficientData(told)))
    with translation.override("en"):
        assert render_message(stored) == "“2.5”: largest step below 0.5"
    with translation.override("de"):
        assert render_message(stored).startswith("„2.5“: ")
        assert "largest" not in render_message(stored)
