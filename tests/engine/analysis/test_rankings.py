"""Rankings for notebooks: the same figures as elsewhere, shown safely, handed to pandas, Arrow and matplotlib."""

import xml.etree.ElementTree as ElementTree
from importlib import import_module

import numpy as np
import pytest

from models_engine.analysis.rankings import rank_items
from models_engine.analysis.scores import compute_scores
from models_engine.data import Comparisons
from models_engine.errors import InvalidData, InvalidSetting, NotConverged
from models_engine.estimators.bradley_terry import BradleyTerry
from models_engine.html_tables import MAX_ROWS

LEFT = [0, 0, 1, 1, 2, 0, 3]
RIGHT = [1, 2, 2, 0, 0, 1, 4]
NAMES = ["Oak", "<b>Elm</b>", "Ash & Co", "Yew", "Fir"]
DATA = Comparisons.from_pairs(left=LEFT, right=RIGHT, outcome=[1, 1, 1, 0, 0, 1, 1], annotators=[0] * 7)


@pytest.fixture(scope="module")
def fitted():
    posterior = BradleyTerry().fit(DATA)
    return posterior, rank_items(posterior, DATA, NAMES, seed=3)


def cells(html: str) -> list[list[str]]:
    root = ElementTree.fromstring(f"<div>{html}</div>")
    return [["".join(cell.itertext()) for cell in row.findall("td")] for row in root.findall(".//tbody/tr")]


def test_parts_that_nothing_connects_are_ranked_apart(fitted):
    posterior, ranking = fitted
    assert list(ranking["item"]) == ["Oak", "<b>Elm</b>", "Ash & Co", "Yew", "Fir"]
    assert list(ranking["part"]) == [0, 0, 0, 1, 1]
    assert list(ranking["rank"]) == [1, 2, 3, 1, 2]
    own = posterior.restrict(np.array([3, 4]))
    assert ranking["score"][3:] == pytest.approx(compute_scores(own).score)
    assert ranking["n_comparisons"].tolist() == DATA.n_comparisons().tolist()
    assert "in 2 parts" in ranking._repr_html_()


def test_names_are_shown_as_text_and_rows_as_in_the_columns(fitted):
    _posterior, ranking = fitted
    shown = cells(ranking._repr_html_())
    assert [row[0] for row in shown] == list(ranking["item"])
    assert [float(row[5]) for row in shown] == pytest.approx(ranking["score"], rel=1e-3)
    drawn = ElementTree.fromstring(f"<div>{ranking._repr_html_()}</div>").findall(".//svg/circle")
    assert np.argmax([float(one.get("cx")) for one in drawn]) == np.argmax(ranking["score"])


def test_a_posterior_shows_its_items_best_first(fitted):
    posterior, _ranking = fitted
    shown = cells(posterior._repr_html_())
    order = np.argsort(-posterior.utilities(), kind="stable")
    assert [int(row[0]) for row in shown] == order.tolist()
    assert [float(row[2]) for row in shown] == pytest.approx(posterior.standard_deviations()[order], rel=1e-3)


def test_long_rankings_end_with_how_many_more_there_are():
    n = MAX_ROWS + 7
    data = Comparisons.from_pairs(left=range(n - 1), right=range(1, n), outcome=[1] * (n - 1), annotators=[0] * (n - 1))
    html = rank_items(BradleyTerry().fit(data), data)._repr_html_()
    assert len(cells(html)) == MAX_ROWS
    assert "7 more rows." in html


def test_what_has_not_converged_says_so():
    data = Comparisons.from_pairs(left=LEFT, right=RIGHT, outcome=[1] * 7, annotators=[0] * 7)
    with pytest.warns(NotConverged):
        posterior = BradleyTerry(max_iterations=1, tolerance=1e-12).fit(data)
    assert "not converged" in rank_items(posterior, data)._repr_html_()
    assert "not converged" in posterior._repr_html_()


def test_pandas_and_arrow_hold_the_same_columns(fitted):
    _posterior, ranking = fitted
    frame, table = ranking.to_pandas(), ranking.to_arrow()
    assert list(frame.columns) == table.column_names == list(ranking.columns)
    assert frame["score"].to_numpy() == pytest.approx(ranking["score"])
    assert table["item"].to_pylist() == list(ranking["item"])


@pytest.mark.process  # matplotlib asks for the fonts that there are
def test_a_plot_has_a_line_per_item_the_best_on_top(fitted):
    import_module("matplotlib").use("Agg")
    _posterior, ranking = fitted
    ax = ranking.plot(n=2)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["Oak", "<b>Elm</b>"]
    assert ax.yaxis_inverted()
    with pytest.raises(InvalidSetting):
        ranking.plot(n=0)


def test_names_of_other_items_are_refused(fitted):
    posterior, _ranking = fitted
    with pytest.raises(InvalidData, match="has 5 items, the data 5, the names 2"):
        rank_items(posterior, DATA, ["Oak", "Elm"])
