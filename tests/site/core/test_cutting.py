"""Long texts end after a word, however they are written."""

import pytest

from annotate.core.cutting import cut_at_word


@pytest.mark.parametrize(
    ("text", "limit", "cut"),
    [
        ("A bridge over the river", 23, "A bridge over the river"),
        ("A bridge over the river", 22, "A bridge over the…"),
        ("A bridge over the river", 18, "A bridge over the…"),
        ("A bridge over the river", 17, "A bridge over…"),
        ("Trees, benches, and a fountain", 17, "Trees, benches…"),
        ("A bridge (the old one) stays", 12, "A bridge…"),
        ("Donaudampfschifffahrtsgesellschaft", 10, "Donaudamp…"),
        ("To Donaudampfschifffahrtsgesellschaft", 10, "To Donaud…"),
        ("河の上の橋は古いので新しくする", 8, "河の上の橋は古…"),
    ],
)
def test_a_text_is_cut_after_a_word(text, limit, cut):
    assert cut_at_word(text, limit) == cut


def test_a_cut_text_is_its_beginning_and_no_longer_than_allowed():
    text = "One, two (three) and Donaudampfschifffahrt"
    for limit in range(2, len(text)):
        cut = cut_at_word(text, limit)
        assert len(cut) <= limit
        assert cut.endswith("…")
        assert text.startswith(cut[:-1])
