"""Items in the taste map: in the direction of whoever likes them more, the numbers never one on the other."""

from itertools import combinations

import numpy as np
import pytest

from annotate.annotators.tastes.map_items import APART, FARTHEST, place_items
from annotate.models import Item

pytestmark = pytest.mark.embedded
SIDE = 460.0


def placed(loadings) -> list[tuple[int, float, float]]:
    items = [Item(key=str(n), body=f"Item {n}") for n in range(len(loadings))]
    return [(one.number, one.x, one.y) for one in place_items(items, np.array(loadings, float), SIDE)]


def test_items_lie_where_the_people_are_who_like_them_more():
    """The unit of both directions is that of the item that divides most."""
    far = SIDE / 2 * FARTHEST
    assert placed([[2, 0], [-1, 0], [0, 1], [0, -2]]) == [
        (1, pytest.approx(230 + far, abs=0.1), 230.0),
        (2, pytest.approx(230 - far / 2, abs=0.1), 230.0),
        (3, 230.0, pytest.approx(230 - far / 2, abs=0.1)),
        (4, 230.0, pytest.approx(230 + far, abs=0.1)),
    ]


def test_numbers_of_items_that_divide_people_alike_cover_none_of_the_others():
    found = placed([[1, 0.5]] * 6)
    assert len({x for _, x, _ in found}) == 1
    assert all(abs(one[2] - other[2]) >= APART - 0.2 for one, other in combinations(found, 2))


@pytest.mark.parametrize("loadings", [np.zeros((0, 2)), [[0, 0], [0, 0]]])
def test_nothing_is_drawn_where_nothing_divides_people(loadings):
    assert placed(loadings) == []
