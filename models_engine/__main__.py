"""The engine's command line: `python -m models_engine fit labels.csv --estimator BradleyTerry --output DIR`."""

import argparse
import os
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

# Before numpy is imported: with one BLAS thread the same input gives the same figures to the last bit.
if "numpy" not in sys.modules:
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from models_engine.errors import EngineError, NotConverged
from models_engine.estimators.choosing import AUTOMATIC, choose, names_for
from models_engine.estimators.settings import configured
from models_engine.estimators.table import ESTIMATORS
from models_engine.reports import fit_record, write_fit
from models_engine.reproducing import reproduce
from models_engine.tables import KNOWN, read_features, read_labels


def main(arguments: list[str] | None = None) -> int:
    """Run one command; the exit code is 0, 1 where a record is not reproduced, 2 where the input cannot be used, or
    130 after Ctrl-C."""
    options = _parser().parse_args(arguments)
    try:
        return {"list": _list, "fit": _fit, "reproduce": _reproduce}[options.command](options)
    except EngineError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\ncancelled; nothing was written.", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m models_engine", description="Ranks items from comparisons.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="list the estimators and when to choose each")
    fit = commands.add_parser("fit", help="fit an estimator to a CSV file of labels", epilog=f"Layouts: {KNOWN}.")
    fit.add_argument("labels", type=Path, help="CSV or TSV, plain or gzipped")
    fit.add_argument("--estimator", default="BradleyTerry", choices=[*sorted(ESTIMATORS), AUTOMATIC], metavar="NAME")
    fit.add_argument("--output", type=Path, required=True, metavar="DIR", help="folder for the three files")
    fit.add_argument("--seed", type=int, default=0, help="of every random number (default 0)")
    fit.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="an estimator's setting; repeat")
    fit.add_argument("--columns", default="", metavar="NAME=COLUMN,...", help="what the file calls a layout's columns")
    fit.add_argument("--items", type=Path, help="CSV: item, then numeric features; names items never compared, too")
    fit.add_argument("--annotators", type=Path, help="CSV: annotator, then numeric features")
    fit.add_argument("--level", type=float, default=0.9, help="probability of the intervals (default 0.9)")
    fit.add_argument("--top-k", type=int, default=10, metavar="K", help="for p_top_k (default 10)")
    fit.add_argument("--skip-bad-rows", action="store_true", help="leave out rows that cannot be used, and list them")
    fit.add_argument("--save-posterior", action="store_true", help="also write posterior.npz")
    again = commands.add_parser("reproduce", help="repeat the fit of a run record and compare")
    again.add_argument("record", type=Path, metavar="RECORD", help="the record's folder")
    return parser


def _list(options: argparse.Namespace) -> int:
    for name, entry in ESTIMATORS.items():
        print(f"{name}\n    {entry.when}")
    return 0


def _fit(options: argparse.Namespace) -> int:
    if not 0 < options.level < 1 or options.top_k < 1:
        raise EngineError(f"--level {options.level} must lie between 0 and 1, --top-k {options.top_k} be 1 or more.")
    if options.estimator == AUTOMATIC and options.set:
        raise EngineError("--set belongs to one estimator; name it with --estimator instead of Automatic.")
    items = read_features(options.items) if options.items else None
    annotators = read_features(options.annotators) if options.annotators else None
    columns = dict(_renamings(options.columns))
    labels = read_labels(
        options.labels, columns=columns, items=items, annotators=annotators, skip_bad_rows=options.skip_bad_rows
    )
    for message in labels.refused:
        print(f"left out: {message}", file=sys.stderr)
    data = labels.data
    size = f"{data.n_labels:,} labels, {data.n_items:,} items, {data.n_annotators:,} annotators"
    name = options.estimator
    if name == AUTOMATIC:
        candidates = {one: ESTIMATORS[one].estimator() for one in names_for(data)}
        choice = choose(data, candidates, seed=options.seed, progress=_Progress())
        name = choice.name
        print(choice.reason, file=sys.stderr)
    estimator, settings = configured(ESTIMATORS[name].estimator, options.set)
    print(f"{name} on {size}", file=sys.stderr)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", NotConverged)
        posterior = estimator.fit(data, rng=np.random.default_rng(options.seed), progress=_Progress())
    for warning in caught:
        print(f"warning: {warning.message}", file=sys.stderr)
    summary = {"level": options.level, "k": options.top_k, "seed": options.seed}
    record = fit_record(labels, posterior, estimator=name, settings=settings, **summary)
    write_fit(options.output, labels, posterior, record, **summary)
    if options.save_posterior:
        np.savez_compressed(options.output / "posterior.npz", allow_pickle=False, **posterior.to_arrays())
    verdict = "converged" if posterior.diagnostics.converged else "NOT CONVERGED"
    print(f"{verdict} in {posterior.diagnostics.seconds:.2f} s; wrote {options.output}", file=sys.stderr)
    return 0


def _reproduce(options: argparse.Namespace) -> int:
    verdict = reproduce(options.record, progress=_Progress())
    print(verdict.words())
    return 0 if verdict.reproduced else 1


def _renamings(text: str) -> Iterator[tuple[str, str]]:
    for part in filter(None, text.split(",")):
        name, equals, column = part.partition("=")
        if not equals:
            raise EngineError(f"--columns {part!r} is not NAME=COLUMN; say winner=harder,loser=easier.")
        yield name, column


class _Progress:
    """One line per second on stderr; the last step always shows."""

    def __init__(self) -> None:
        self.next_at = 0.0

    def __call__(self, step: int, total: int, objective: float) -> bool:
        now = time.monotonic()
        if now >= self.next_at or step == total:
            print(f"step {step} of at most {total}, objective {objective:.6g}", file=sys.stderr, flush=True)
            self.next_at = now + 1.0
        return True


if __name__ == "__main__":
    sys.exit(main())
