"""Geometry of the charts: positions against arithmetic done another way, for any numbers."""

import re
from itertools import pairwise

import pytest
from django.utils import translation
from hypothesis import given
from hypothesis import strategies as st

from annotate.core import charts, numbers
from annotate.core.charts import Scale, columns, line_path, place_span
from annotate.core.numbers import format_number, format_percent
from annotate.templatetags.figures import percent

pytestmark = pytest.mark.embedded

finite = st.floats(-1e6, 1e6, allow_nan=False)


def number(text: str) -> float:
    return float(text.removesuffix("%").replace(numbers.MINUS, "-"))


def test_a_figure_has_a_true_minus_and_no_negative_zero():
    assert format_number(-1.234) == "\N{MINUS SIGN}1.23"
    assert format_number(-0.001) == "0.00"
    assert format_number(2, 0) == "2"
    assert [percent(value) for value in (-0.0001, 0.005, 0.496, 1, None)] == ["0%", "0%", "50%", "100%", "-"]
    with translation.override("de"):
        assert [percent(0.496), format_percent(0.4956, 1)] == ["50\N{NO-BREAK SPACE}%", "49,6\N{NO-BREAK SPACE}%"]


@given(low=finite, span=st.floats(1e-3, 1e6), place=st.floats(0, 1))
def test_a_scale_is_linear_from_end_to_end(low, span, place):
    scale = Scale(low, low + span)
    assert scale.share(low + place * span) == pytest.approx(place, abs=1e-6)
    assert scale.share(low - span) == 0
    assert scale.share(low + 2 * span) == 1


@given(low=finite, span=st.floats(1e-3, 1e6))
def test_ticks_are_few_round_and_evenly_spaced_inside_the_scale(low, span):
    scale = Scale(low, low + span)
    values = [value for value, _, _ in scale.tick_values(7)]
    assert 1 <= len(values) <= 8
    assert all(low - 1e-6 * span <= value <= low + span + 1e-6 * span for value in values)
    steps = {round((b - a) / span, 6) for a, b in pairwise(values)}
    assert len(steps) <= 1
    for step in steps:
        digits = f"{step * span:.0e}"
        assert digits[0] in "125" or digits.startswith("1e")


@given(low=finite, span=st.floats(1e-3, 1e6))
def test_a_tick_stands_where_its_label_says(low, span):
    scale = Scale(low, low + span)
    for tick, (value, label, is_zero) in zip(scale.ticks(), scale.tick_values(), strict=True):
        assert number(tick.at) == pytest.approx(100 * (value - low) / span, abs=0.011)
        assert number(label) == pytest.approx(value, rel=1e-6, abs=1e-9)
        assert is_zero == (value == 0)


def test_a_scale_around_one_point_has_width():
    scale = Scale.around(3.0, 3.0)
    assert scale.low < 3.0 < scale.high


@given(low=finite, a=st.floats(0, 100), b=st.floats(0, 100))
def test_an_interval_keeps_its_order(low, a, b):
    mark = Scale.around(low, low + a + b).interval(low, low + a, low + a + b)
    assert 0 <= number(mark.low) <= number(mark.middle) <= number(mark.high) <= 100


@given(n=st.integers(1, 10_000), data=st.data())
def test_a_bar_of_places_holds_its_places_and_stays_inside(n, data):
    low = data.draw(st.integers(1, n))
    high = data.draw(st.integers(low, n))
    rank = data.draw(st.integers(low, high))
    bar = place_span(rank, low, high, n)
    start, width = number(bar.start), number(bar.width)
    assert start >= 0
    assert start + width <= 100.02
    assert width >= 100 * charts.MIN_WIDTH - 0.01
    assert start - 0.02 <= number(bar.at) <= start + width + 0.02
    if (high - low + 1) / n >= charts.MIN_WIDTH:
        assert start == pytest.approx(100 * (low - 1) / n, abs=0.02)
        assert start + width == pytest.approx(100 * high / n, abs=0.02)


@given(st.lists(st.integers(0, 100_000), min_size=1, max_size=200))
def test_columns_stand_on_the_ground_and_keep_their_proportions(values):
    drawn = columns(values, [str(i) for i in range(len(values))], height=160)
    (ground, zero), *_, (_, top) = [*drawn.lines, drawn.lines[-1]]
    assert (ground, zero) == ("160.0", "0")
    top_value = int(top.replace(",", ""))
    assert top_value >= max(values)
    right = 0.0
    for column, value in zip(drawn.columns, values, strict=True):
        assert number(column.y) + number(column.height) == pytest.approx(160, abs=0.11)
        expected = 160 * value / top_value
        assert number(column.height) == pytest.approx(max(expected, 1.0) if value else 0, abs=0.06)
        assert number(column.x) >= right - 0.02
        right = number(column.x) + number(column.width)
    assert right <= 100.02


def test_no_columns_is_an_empty_chart():
    assert columns([], [], height=160).columns == []


def test_a_line_rises_with_its_values_and_breaks_at_what_is_not_finite():
    path = line_path([-4.0, -2.0, float("nan"), -1.0, 0.0], width=100, height=50)
    points = [(float(x), float(y)) for x, y in re.findall(r"[ML]([\d.]+) ([\d.]+)", path)]
    assert path.count("M") == 2
    assert [x for x, _ in points] == [0, 25, 75, 100]
    assert [y for _, y in points] == sorted((y for _, y in points), reverse=True)
    assert all(0 <= y <= 50 for _, y in points)


@pytest.mark.parametrize("values", [[], [1.0], [float("inf"), float("nan")]])
def test_too_little_for_a_line_draws_none(values):
    assert line_path(values, width=100, height=50) == ""
