"""Pictures: wavelets that give back what went in, trees summed by hand, posterior means above modes, missing pixels."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import log_ndtr

from models_engine.analysis.haar import analyse, synthesise
from models_engine.benchmarks.denoising import DEPTH, Denoiser
from models_engine.benchmarks.images import SIGMA, draw_picture, fill, main, read_pictures, run, signal_to_noise
from models_engine.benchmarks.inpainting import Inpainter, fill_by_mean, interpolate, normal_of_pixels, take_nearest
from models_engine.benchmarks.wavelets import infer_tree
from models_engine.errors import InsufficientData, InvalidData, InvalidSetting


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


def test_pixels_that_are_missing_have_the_posterior_of_the_whole_matrix():
    """The matrix of the transform, column by column; of 8 x 8 pixels 20 are there, with unlike noise."""
    rng, n, depth = np.random.default_rng(4), 8, 2

    def flat(image):
        scaling, bands = analyse(image, depth)
        return np.concatenate([scaling.ravel(), *(band.ravel() for band in bands)])

    transform = np.column_stack([flat(one.reshape(n, n)) for one in np.eye(n * n)])
    precision = np.zeros(n * n)
    precision[rng.permutation(n * n)[:20]] = rng.uniform(1, 1e5, 20)
    shift = precision * rng.normal(size=n * n)
    prior = [rng.uniform(0.1, 50, (3, m, m)) for m in (2, 4)]
    weights = np.concatenate([np.zeros(4), *(one.ravel() for one in prior)])
    whole = transform @ np.diag(precision) @ transform.T + np.diag(weights)
    covariance = np.linalg.inv(whole)
    mean = covariance @ transform @ shift
    found = normal_of_pixels(precision.reshape(n, n), shift.reshape(n, n), prior)
    assert_allclose(np.concatenate([one.ravel() for one in found.mean]), mean[4:], rtol=1e-7, atol=1e-9)
    assert_allclose(np.concatenate([one.ravel() for one in found.spread]), np.diag(covariance)[4:], rtol=1e-7)
    assert_allclose(found.picture.ravel(), transform.T @ mean, rtol=1e-7, atol=1e-9)
    assert_allclose(found.variance.ravel(), np.diag(transform.T @ covariance @ transform), rtol=1e-6)
    assert found.log_determinant == pytest.approx(np.linalg.slogdet(whole)[1], rel=1e-10)


def test_a_part_without_any_pixel_is_refused():
    known = np.ones((64, 64), dtype=bool)
    known[32:, :32] = False
    with pytest.raises(InsufficientData, match="no pixel at all"):
        Inpainter("one", variational=True).fill(np.ones((64, 64)), known, 0.01)


@pytest.mark.parametrize("prior", ["one", "levels", "tree"])
@pytest.mark.parametrize("variational", [True, False])
def test_filling_never_lowers_its_objective_and_reads_no_missing_pixel(prior, variational):
    rng = np.random.default_rng(5)
    image, known = draw_picture(32, rng), rng.random((32, 32)) < 0.4
    found = Inpainter(prior, variational, max_passes=60).fill(image, known, 0.01)
    assert np.diff(found.objective).min() > -1e-6
    other = Inpainter(prior, variational, max_passes=60).fill(np.where(known, image, 7.0), known, 0.01)
    assert_allclose(other.picture, found.picture)
    assert np.abs(found.picture - image)[known].max() < 0.1


def test_a_filled_picture_without_missing_pixels_is_one_without_noise():
    image = noisy_picture(32)
    every = np.ones(image.shape, dtype=bool)
    filled = Inpainter("levels", variational=True, max_passes=1_000, tolerance=1e-7).fill(image, every, SIGMA)
    denoised = Denoiser("levels", variational=True, tolerance=1e-7).fit(image, SIGMA)
    assert_allclose(filled.picture, denoised.picture, atol=2e-3)
    assert_allclose(filled.rates, denoised.rates, rtol=0.02)


def test_simple_ways_give_back_a_plane_or_the_nearest_pixel():
    i, j = np.meshgrid(np.arange(6.0), np.arange(6.0), indexing="ij")
    plane, known = (i + 2 * j) / 20, np.ones((6, 6), dtype=bool)
    known[1:5, 1:5] = False
    assert_allclose(interpolate(plane, known), plane, atol=1e-12)
    assert take_nearest(plane, known)[1, 2] == plane[0, 2]
    assert fill_by_mean(plane, known)[2, 2] == pytest.approx(plane[known].mean())


@pytest.mark.slow
def test_means_fill_better_than_modes_of_one_prior_a_level_and_lines_better_than_both():
    rng = np.random.default_rng(0)
    rows = {row.method: row.psnr for row in fill([draw_picture(64, rng) for _one in range(2)], 0.75, rng)}
    assert rows["mean, levels"] > rows["mode, levels"]
    assert rows["mean, tree"] > rows["mode, tree"]
    assert rows["linear"] > rows["mean, tree"] > rows["mean pixel"] + 2


@pytest.mark.parametrize("share", ["0", "1", "-0.5"])
def test_a_share_of_missing_pixels_lies_between_0_and_1(share):
    with pytest.raises(InvalidSetting, match="no share"):
        main(["--missing", share])
