"""Arguments whose answers are withheld, predicted from their texts (UKPConvArg1): a fifth in turn, in their topic."""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from models_engine.analysis.held_out_items import held_out_gain
from models_engine.analysis.text_features import text_features
from models_engine.benchmarks.crowd_data import read_ukp, read_ukp_texts
from models_engine.benchmarks.machine import describe_machine
from models_engine.errors import InvalidData
from models_engine.estimators.settings import build_estimator
from models_engine.estimators.table import ESTIMATORS

__all__ = ["main"]


def main(arguments: Sequence[str]) -> int:
    """Run the command: a line for each number of directions; 0 is the length alone."""
    parser = argparse.ArgumentParser(prog="python -m models_engine.benchmarks unseen", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of ukpconvarg1")
    parser.add_argument("--estimator", default="BradleyTerry", help="name of the estimator of the answers left")
    parser.add_argument("--widths", default="0,10,50,100", help="numbers of directions, separated by commas")
    options = parser.parse_args(arguments)
    widths = [int(one) for one in options.widths.split(",")]
    data, _topics = read_ukp(options.data)
    texts = read_ukp_texts(options.data)
    if texts is None:
        raise InvalidData(f"{options.data} has no texts; give --data the folder with them.")
    features = text_features(texts, max([*widths, 1]))
    estimator = build_estimator(ESTIMATORS[options.estimator].estimator, {})
    print(describe_machine())
    print(
        f"{'directions':>10}{'answers':>9}{'loss':>8}{'without':>9}{'gain':>9}{'±':>8}{'accuracy':>10}{'explained':>11}"
    )
    for width in widths:
        columns = np.column_stack([features[:, :width], features[:, -1]])
        known = np.ones(data.n_items, dtype=bool)
        found = held_out_gain(replace(data, item_features=columns), estimator, known)
        line = f"{width:>10}{found.n_pairs:>9}{found.loss:>8.4f}{found.loss_without:>9.4f}{found.gain:>9.4f}"
        print(f"{line}{found.error:>8.4f}{found.accuracy:>10.4f}{found.explained:>11.2f}", flush=True)
    return 0
