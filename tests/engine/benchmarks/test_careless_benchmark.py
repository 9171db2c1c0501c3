"""The benchmark of tastes and carelessness together: its worlds are as described, its table has every fit."""

import numpy as np
import pytest

from models_engine.benchmarks.careless import (
    PART,
    WORLDS,
    CarelessResult,
    excess_losses,
    format_table,
    main,
    measure,
)


@pytest.mark.parametrize("world", WORLDS)
def test_a_world_has_the_reliabilities_it_says_and_items_in_range(world):
    people, data = WORLDS[world][0](np.random.default_rng(0))
    assert data.n_items == people.n_items
    assert data.n_annotators == people.n_annotators
    assert people.own.shape == (people.n_annotators, people.n_items)
    careless = {"reliable": 0, "spammers": 8, "inverted": 2, "camps": 0, "both": 2, "heavy": 4, "three": 3, "drift": 4}
    if world in careless:
        assert (people.reliability < 0.6).sum() == careless[world]


@pytest.mark.parametrize("world", ["parts", "uneven"])
def test_items_of_different_parts_are_never_compared(world):
    _, data = WORLDS[world][0](np.random.default_rng(0))
    assert (data.items[0::2] // PART == data.items[1::2] // PART).all()


def test_side_biases_and_scales_of_parts_are_those_said():
    people, _ = WORLDS["sides"][0](np.random.default_rng(0))
    assert 0.2 < people.side.std() < 0.4
    (people, _), (even, _) = (WORLDS[name][0](np.random.default_rng(0)) for name in ("uneven", "parts"))
    spread = people.utilities.reshape(-1, PART).std(axis=1)
    assert np.median(spread[1::2]) > 3 * np.median(spread[0::2])
    np.testing.assert_allclose(people.own - people.utilities, even.own - even.utilities, atol=1e-12)


def test_counts_by_a_power_law_belong_to_the_annotators_drawn():
    _, data = WORLDS["power"][0](np.random.default_rng(0))
    counts = np.sort(np.bincount(data.annotators))[::-1]
    assert data.n_labels == 1500
    assert counts[0] > 8 * counts[20]


@pytest.mark.slow
@pytest.mark.process
def test_the_table_has_a_row_for_each_fit(capsys, tmp_path):
    options = [
        "--worlds",
        "both",
        "--fits",
        "CrowdBT;BradleyTerry",
        "--crowds",
        "2",
        "--json",
        str(tmp_path / "f.json"),
    ]
    assert main(options) == 0
    printed = capsys.readouterr().out
    assert "two camps" in printed
    assert printed.count("±") >= 4
    assert measure("CrowdBT", "both", 0).reliability_error < 0.2


def test_the_loss_is_set_beside_the_best_fit_of_one_taste_crowd_by_crowd():
    losses = {"CollaborativeGP": (0.50, 0.60), "CrowdBT": (0.48, 0.55), "BradleyTerry": (0.40, 0.70)}
    found = [
        CarelessResult(fit, "parts", seed, 0.9, 0.9, 0.8, 1.0, loss, 0.1, 1.0)
        for fit, both in losses.items()
        for seed, loss in enumerate(both)
    ]
    np.testing.assert_allclose(excess_losses(found, "CollaborativeGP", "parts"), [0.02, 0.05])
    assert "over one taste" in format_table(found)
    alone = [one for one in found if one.fit == "CollaborativeGP"]
    assert np.isnan(excess_losses(alone, "CollaborativeGP", "parts")).all()
