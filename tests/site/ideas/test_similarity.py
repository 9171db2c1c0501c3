"""Texts that say nearly the same: the cosine against a count by hand, and what people write."""

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotate.ideas.similarity import MAX_TEXTS, SimilarTexts, plain_text
from tests.budget import examples


def by_hand(one: str, other: str) -> float:
    """The cosine between the sets of runs, counted by Python's own sets."""
    first, second = ({text[i : i + 3] for i in range(len(text) - 2)} for text in map(plain_text, (one, other)))
    return len(first & second) / math.sqrt(len(first) * len(second)) if first and second else 0.0


@settings(max_examples=examples(30), deadline=None)
@given(
    st.lists(st.text(alphabet="abcä \U0001f600", max_size=12), min_size=1, max_size=6), st.text("abcä ", max_size=12)
)
def test_the_cosine_is_that_of_the_sets_of_runs(texts, text):
    found = {one.place: one.cosine for one in SimilarTexts(texts).find(text, n=len(texts), least=1e-9)}
    expected = {place: cosine for place, other in enumerate(texts) if (cosine := by_hand(text, other)) > 0}
    assert found == pytest.approx(expected)


@pytest.mark.parametrize(
    ("text", "like"),
    [
        ("more bicycle lanes in the city", "More bike lanes in the city"),
        ("Plant trees!", "Plant more trees along streets"),
        ("library open on sunday", "Open the library on Sundays"),
        ("Radwege in der Stadt, mehr", "Mehr Radwege in der Innenstadt"),
        ("ＭＯＲＥ ＢＩＫＥ ＬＡＮＥＳ", "More bike lanes in the city"),
        ("Build a swimming pool", None),
        ("", None),
    ],
)
def test_what_people_write(text, like):
    texts = [
        "More bike lanes in the city",
        "Plant more trees along streets",
        "Open the library on Sundays",
        "Mehr Radwege in der Innenstadt",
    ]
    found = SimilarTexts(texts).find(text)
    assert (texts[found[0].place] if found else None) == like


def test_ten_thousand_texts_are_kept_and_no_more():
    rng = random.Random(1)
    texts = ["".join(rng.choices("abcdefgh ", k=20)) for _ in range(MAX_TEXTS + 5)]
    index = SimilarTexts(texts)
    assert len(index.sizes) == MAX_TEXTS
    assert index.find(texts[77])[0].place == 77
