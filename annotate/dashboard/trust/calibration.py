"""Measures how often predictions of hidden answers came true, as figures and as a plot."""

from dataclasses import dataclass
from typing import Any

from annotate.core.numbers import format_integer, format_number, format_percent
from annotate.models import Evaluation

WIDTH, HEIGHT = 360.0, 240.0
MIN_PROBABILITY = 0.3  # of the upright axis; below it a favourite hardly ever falls
MIN_ANSWERS = 20  # predictions in a bin before it is told as an example
MAX_GAP = 0.03  # mean distance between predicted and true that is called right whatever its significance
MAX_Z = 1.96


@dataclass(frozen=True)
class Point:
    """One bin: where it is drawn, and its figures in words."""

    x: float
    y: float
    low_y: float
    high_y: float
    between: str
    n: int
    predicted: str
    came_true: str
    interval: str


@dataclass(frozen=True)
class Calibration:
    """example: the fullest bin's figures; where the predictions are not right, those of the bin that shows it most."""

    points: list[Point]
    example: dict[str, str]
    n: int
    accuracy: str
    z: str
    is_right: bool
    too_sure: bool
    fit_number: int | None
    n_labels: int
    n_drawn: int | None  # of them, where not all were used

    width = WIDTH
    height = HEIGHT

    @property
    def diagonal(self) -> tuple[float, float]:
        """Return the upright positions of perfect calibration at the left and the right end."""
        return y_position(0.5), y_position(1.0)

    @property
    def lines(self) -> list[tuple[float, str]]:
        return [(y_position(value), format_percent(value)) for value in (0.4, 0.6, 0.8, 1.0)]

    @property
    def marks(self) -> list[tuple[float, str]]:
        return [(x_position(value), format_percent(value)) for value in (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)]


def calibration_of(evaluation: Evaluation | None, estimator: str) -> Calibration | None:
    """Return None where this estimator has not been evaluated, or could not be."""
    figures = next((one for one in evaluation.figures if one["name"] == estimator), None) if evaluation else None
    if evaluation is None or figures is None or not figures["bins"]:
        return None
    bins, n = figures["bins"], figures["n_pairs"]
    apart = sum(one["n"] * abs(one["came_true"] - one["predicted"]) for one in bins) / n
    z = figures["z"]
    is_right = apart <= MAX_GAP or z is None or abs(z) <= MAX_Z
    too_sure = not is_right and z > 0
    filled = [one for one in bins if one["n"] >= MIN_ANSWERS] or bins
    shown = max(filled, key=lambda one: one["n"])
    if not is_right:  # a bin that misses the other way would belie the sentence
        shown = max(filled, key=lambda one: one["n"] * (one["came_true"] - one["predicted"]) * (-1 if too_sure else 1))
    return Calibration(
        points=[point(one) for one in bins],
        example=example(shown),
        n=n,
        accuracy=percent(figures["accuracy"]),
        z="-" if z is None else format_number(z, 1),
        is_right=is_right,
        too_sure=too_sure,
        fit_number=evaluation.fit_number,
        n_labels=evaluation.n_labels,
        n_drawn=evaluation.n_drawn,
    )


def example(one: dict[str, Any]) -> dict[str, str]:
    return {
        "n": format_integer(one["n"]),
        "from": format_percent(one["low"]),
        "to": format_percent(one["high"]),
        "true": percent(one["came_true"]),
    }


def point(one: dict[str, Any]) -> Point:
    return Point(
        x=x_position(one["predicted"]),
        y=y_position(one["came_true"]),
        low_y=y_position(one["came_low"]),
        high_y=y_position(one["came_high"]),
        between=f"{100 * one['low']:.0f}–{format_percent(one['high'])}",
        n=one["n"],
        predicted=percent(one["predicted"]),
        came_true=percent(one["came_true"]),
        interval=f"{percent(one['came_low'])}–{percent(one['came_high'])}",
    )


def percent(value: float | None) -> str:
    return "-" if value is None else format_percent(value)


def x_position(value: float) -> float:
    return round(WIDTH * (value - 0.5) / 0.5, 1)


def y_position(value: float) -> float:
    return round(HEIGHT * (1 - (max(MIN_PROBABILITY, value) - MIN_PROBABILITY) / (1 - MIN_PROBABILITY)), 1)
