"""Pictures: wavelets that give back what went in, trees summed by hand, posterior means above modes."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import log_ndtr

from models_engine.analysis.haar import analyse, synthesise
from models_engine.benchmarks.denoising import DEPTH, Denoiser
from models_engine.benchmarks.images import SIGMA, draw_picture, main, read_pictures, run, signal_to_noise
from models_engine.benchmarks.wavelets import infer_tree
from models_engine.errors import InvalidData, InvalidSetting


def test_wavelets_are_orthonormal():
    image = np.random.default_rng(0).normal(size=(32, 32))
    scaling, bands = analyse(image, 3)
    assert [band.shape for band in bands] == [(3, 4, 4), (3, 8, 8), (3, 16, 16)]
    assert_allclose(synthesise(scaling, bands), image, atol=1e-10)
    assert (scaling**2).sum() + sum((band**2).sum() for band in bands) == pytest.approx((image**2).sum())


def test_a_tree_is_the_sum_over_all_its_states():
    rng = np.random.default_rng(1)
    evidence = [rng.normal(size=(2, 3, 1, 1)), rng.normal(size=(2, 3, 2, 2))]
    root, step = np.array([0.3, 0.7]), np.array([[0.8, 0.2], [0.4, 0.6]])
    tree = infer_tree(evidence, root, [step])
    chances, pairs, totals = tree.chances, tree.pairs, []
    for band in range(3):
        of_root, of_child, total = np.zeros(2), np.zeros(2), 0.0
        for states in product((0, 1), repeat=5):
            top, leaves = states[0], states[1:]
            weight = root[top] * np.exp(evidence[0][top, band, 0, 0])
            for leaf, (i, j) in zip(leaves, product((0, 1), repeat=2), strict=True):
                weight *= step[top, leaf] * np.exp(evidence[1][leaf, band, i, j])
            total += weight
            of_root[top] += weight
            of_child[leaves[1]] += weight
        totals.append(total)
        assert_allclose(chances[0][:, band, 0, 0], of_root / total, rtol=1e-12)
        assert_allclose(chances[1][:, band, 0, 1], of_child / total, rtol=1e-12)
    assert tree.log_evidence == pytest.approx(np.log(totals).sum(), rel=1e-12)
    assert_allclose(pairs[0].sum(axis=0), chances[1].sum(axis=(1, 2, 3)), rtol=1e-12)
    assert_allclose(pairs[0].sum(axis=1), 4 * chances[0].sum(axis=(1, 2, 3)), rtol=1e-12)


def noisy_picture(n):
    rng = np.random.default_rng(3)
    return draw_picture(n, rng) + SIGMA * rng.normal(size=(n, n))


@pytest.mark.parametrize("prior", ["one", "levels", "tree"])
@pytest.mark.parametrize("variational", [True, False])
def test_the_objective_never_falls_and_ends_where_it_rises_no_more(prior, variational):
    found = Denoiser(prior, variational).fit(noisy_picture(32), SIGMA)
    rises = np.diff(found.objective)
    assert rises.min() > -1e-6
    assert rises[-1] < 1e-6 * 32**2


def test_the_bound_is_the_highest_of_a_grid_and_below_the_evidence():
    """Per coefficient, by the dual: log t(s) >= log(tau / 2) - s^2 / 2g - g tau^2 / 2 for every g > 0."""
    image = noisy_picture(32)
    found = Denoiser("one", variational=True, tolerance=1e-9).fit(image, SIGMA)
    y, tau = np.concatenate([band.ravel() for band in analyse(image, DEPTH)[1]])[:, None], found.rates[0, 0]
    g = np.exp(np.linspace(-14, 4, 2_000))
    bounds = np.log(tau / 2) - g * tau**2 / 2 - np.log1p(SIGMA**2 / g) / 2 - y**2 / (g + SIGMA**2) / 2
    assert found.objective[-1] == pytest.approx(bounds.max(axis=1).sum(), abs=1e-2)
    sides = [tau**2 * SIGMA**2 / 2 - tau * s + log_ndtr(s / SIGMA - tau * SIGMA) for s in (y, -y)]
    assert found.objective[-1] < (np.log(tau / 2) + np.logaddexp(*sides)).sum()


def test_a_tree_has_more_evidence_than_a_prior_for_each_level():
    image = noisy_picture(32)
    tree, levels = (Denoiser(prior, variational=True).fit(image, SIGMA) for prior in ("tree", "levels"))
    assert tree.objective[-1] > levels.objective[-1]


@pytest.mark.slow
def test_means_are_above_modes_and_the_tree_above_a_prior_for_each_level():
    """Floors of the thesis's table: .3 dB between the means, 2 dB between the tree's means and the modes beside it."""
    rng = np.random.default_rng(0)
    rows = {row.method: row.psnr for row in run([draw_picture(64, rng) for _one in range(2)], rng)}
    assert rows["mean, tree"] > rows["mean, levels"] + 0.3
    assert rows["mean, tree"] > rows["mode, levels"] + 2
    assert rows["mean, tree"] > rows["as it is"] + 2


def test_pictures_are_bright_from_0_to_1():
    picture = draw_picture(32, np.random.default_rng(2))
    assert picture.min() >= 0
    assert picture.max() <= 1
    assert signal_to_noise(np.full((4, 4), 0.6), np.full((4, 4), 0.5)) == pytest.approx(20)


def test_pictures_of_a_folder_are_read_from_their_middle(tmp_path):
    pixels = np.arange(40 * 36, dtype=np.int64).reshape(36, 40)
    (tmp_path / "b.pgm").write_bytes(b"P5\n# made by hand\n40 36\n255\n" + (pixels % 256).astype("u1").tobytes())
    (tmp_path / "a.pgm").write_bytes(b"P5 40 36 65535\n" + pixels.astype(">u2").tobytes())
    fine, coarse = read_pictures(tmp_path, 32)
    assert_allclose(fine, pixels[2:34, 4:36] / 65535)
    assert_allclose(coarse, (pixels[2:34, 4:36] % 256) / 255)


@pytest.mark.parametrize(
    ("content", "size", "words"),
    [
        (b"P2 2 2 255 1 2 3 4", "32", "no binary grey PGM"),
        (b"P5 64 64 255\n" + bytes(100), "32", "ends before its 64 x 64"),
        (b"P5 16 64 255\n" + bytes(1024), "32", "smaller than 32 x 32"),
        (None, "32", "no .pgm file"),
        (None, "40", "no multiple of 32"),
    ],
)
def test_folders_that_hold_no_picture_are_refused(tmp_path, content, size, words):
    if content is not None:
        (tmp_path / "a.pgm").write_bytes(content)
    with pytest.raises((InvalidData, InvalidSetting), match=words):
        main(["--folder", str(tmp_path), "--size", size])
