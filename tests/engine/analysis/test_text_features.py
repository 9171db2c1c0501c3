"""Text features: against a dense decomposition, in scripts with and without spaces, with little to go by."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from models_engine.analysis.text_features import (
    MAX_DIRECTIONS,
    NAMES,
    log_lengths,
    measure_texts,
    split_words,
    tf_idf,
)
from models_engine.errors import InvalidData

WORDS = ["red", "green", "blue", "yellow", "black", "white", "grey", "pink"]


def some_texts(n: int) -> list[str]:
    rng = np.random.default_rng(1)
    return [" ".join(rng.choice(WORDS, rng.integers(2, 9))) for _ in range(n)]


def test_directions_are_those_of_a_dense_decomposition_largest_first():
    texts = some_texts(24)
    found = measure_texts(texts)
    assert found.shape == (24, len(NAMES)) == (24, 1 + MAX_DIRECTIONS)
    assert_allclose(found[:, 0], log_lengths(texts))
    u, d, vt = np.linalg.svd(tf_idf(texts).toarray(), full_matrices=False)
    heaviest = np.sign([row[np.abs(row).argmax()] for row in vt])
    assert_allclose(found[:, 1:7], (u * d * heaviest)[:, :6], atol=1e-9)  # one for every four texts
    assert np.isnan(found[:, 7:]).all()


def test_equal_texts_have_equal_features_and_a_second_measurement_is_the_same():
    texts = [*some_texts(20), *some_texts(20)]
    found = measure_texts(texts)
    assert_allclose(found[:20], found[20:], atol=1e-9, equal_nan=True)
    assert np.array_equal(found, measure_texts(iter(texts)), equal_nan=True)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Don't STOP, Straße!", ["don't", "stop", "strasse"]),
        ("नमस्ते दुनिया", ["नमस्ते", "दुनिया"]),  # vowel signs are part of a word
        ("cafe\u0301 ﬁne", ["café", "fine"]),
        ("苹果很好", ["苹果", "果很", "很好"]),
        ("GPT4は良い", ["gpt4", "は良", "良い"]),
        ("ไทย", ["ไท", "ทย"]),
        ("猫", ["猫"]),
        ("_ - ...", []),
    ],
)
def test_words_of_any_language(text, words):
    assert split_words(text) == words


def test_texts_in_chinese_share_directions_by_what_they_say():
    texts = ["苹果很好吃", "苹果很甜", "天气很冷", "天气太冷了"] * 5
    first, second, third = measure_texts(texts)[[0, 1, 2], 1:5]
    assert np.linalg.norm(first - second) < np.linalg.norm(first - third)


def test_little_to_go_by():
    """Texts without a word in common have only their length, those with one word alike no more; a text without words
    is at the origin."""
    assert np.isnan(measure_texts(["one", "two three", "four", "five"])[:, 1:]).all()
    alike = measure_texts(["same"] * 8)
    assert_allclose(alike[:, 0], np.log(2))
    assert np.isnan(alike[:, 1:]).all()
    empty = measure_texts([*some_texts(11), ""])
    assert_allclose(empty[-1, :4], 0, atol=1e-12)
    for texts in ([], ["one"], ["one", "", "!"]):
        with pytest.raises(InvalidData, match="with words or more"):
            measure_texts(texts)


def test_a_long_text_counts_by_its_first_words_and_its_whole_length():
    long = " ".join(["red"] * 1000 + ["blue"] * 1500)
    found = tf_idf([long, "red", "blue red", "blue"]).toarray()
    assert_allclose(found[0], [0, 1])
    assert measure_texts([long, "red", "blue", "red blue"])[0, 0] == pytest.approx(np.log(2501))
