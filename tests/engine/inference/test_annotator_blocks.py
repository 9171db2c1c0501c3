"""Blocks of annotators: what goes between their own coordinates and those of items, against plain matrices."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from models_engine.inference.probit_ep import annotator_blocks
from models_engine.inference.probit_ep.annotator_blocks import Block, build_blocks
from models_engine.inference.probit_ep.block_sums import scatter_matrices
from models_engine.inference.probit_ep.pair_sites import PairSites, build_sites
from models_engine.simulate import simulate_crowd

N_ITEMS = 9


def sites_of(n_labels: int) -> PairSites:
    rng = np.random.default_rng(0)
    data = simulate_crowd(rng, N_ITEMS, 7, utility_sd=1.0).pairs(n_labels, rng)
    return build_sites(data.pairs(), data.weights)


def bases(block: Block) -> np.ndarray:
    """Return B of each annotator, (U, d, n_items), from utilities to local coordinates."""
    own = np.eye(N_ITEMS)[block.items]
    return own if block.others is None else own - np.eye(N_ITEMS)[block.others]


@pytest.mark.parametrize("n_labels", [60, 400])
@pytest.mark.parametrize("wide", [True, False])
@pytest.mark.parametrize("numbers", [200, 1_000_000])
@pytest.mark.parametrize("height", [1, 2, 100, None])
def test_matrices_go_to_items_and_back(monkeypatch, n_labels, wide, numbers, height):
    """Few numbers make blocks of few annotators, which wait for each other or not. height: rows of a tile, of nine;
    None: by products."""
    monkeypatch.setattr(annotator_blocks, "MAX_FEW_ITEMS", N_ITEMS if height is None else 0)
    monkeypatch.setattr(annotator_blocks, "TILE_NUMBERS", (height or 1) * N_ITEMS)
    monkeypatch.setattr(annotator_blocks, "MIN_WIDE_BLOCK", 1 if wide else 1_000)
    monkeypatch.setattr(annotator_blocks, "MAX_BLOCK_NUMBERS", numbers)
    rng, blocks = np.random.default_rng(1), build_blocks(sites_of(n_labels))
    assert {block.in_items for block in blocks} == {n_labels == 400}
    assert any(block.is_small for block in blocks) == (n_labels == 60)
    local, expected = [], np.zeros((N_ITEMS, N_ITEMS))
    for block in blocks:
        half = rng.standard_normal((*block.items.shape, 3)) * (1.0 if block.in_items else block.real[:, :, None])
        local.append(half @ half.transpose(0, 2, 1))
        b = bases(block)
        expected += (b.transpose(0, 2, 1) @ local[-1] @ b).sum(axis=0)
    assert_allclose(scatter_matrices(blocks, iter(local), N_ITEMS), expected, atol=1e-12)
    root = rng.standard_normal((N_ITEMS, N_ITEMS))
    for block in blocks:
        b = bases(block)
        assert_allclose(block.gather(root @ root.T), b @ (root @ root.T) @ b.transpose(0, 2, 1), atol=1e-12)
