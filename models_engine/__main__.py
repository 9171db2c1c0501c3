"""The engine's command line: `python -m models_engine fit labels.csv --estimator BradleyTerry --output DIR`."""

import argparse
import os
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# Set before numpy is imported: with one BLAS thread the same input gives the same figures to the last bit.
if "numpy" not in sys.modules:
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from models_engine.data import Comparisons
from models_engine.errors import EngineError, NotConverged
from models_engine.estimators.choosing import AUTOMATIC, candidate_names, choose_estimator
from models_engine.estimators.competitor_posterior import CompetitorPosterior
from models_engine.estimators.competitor_table import Evidence, count_evidence
from models_engine.estimators.competitors import Competitors
from models_engine.estimators.settings import parse_settings
from models_engine.estimators.table import COUNT_ESTIMATORS, ESTIMATORS, estimator_class
from models_engine.io.competitor_files import Named, read_competitors, write_leaderboard
from models_engine.io.count_tables import Counts, read_counts
from models_engine.io.label_tables import LAYOUTS, Labels, read_features, read_labels
from models_engine.io.reports import fit_record, write_fit
from models_engine.io.reproduction import reproduce


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return the exit code.

    0; 1 if a record is not reproduced; 2 if the input cannot be used; 130 after Ctrl-C.
    """
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
    epilog = f"Layouts: {LAYOUTS}. Of counts, with --estimator CountFactorization: annotator,item,count[,exposure]."
    fit = commands.add_parser("fit", help="fit an estimator to a CSV file of labels or counts", epilog=epilog)
    fit.add_argument("labels", type=Path, help="CSV or TSV, plain or gzipped")
    fit.add_argument(
        "--estimator",
        default="BradleyTerry",
        choices=[*sorted(ESTIMATORS | COUNT_ESTIMATORS), AUTOMATIC],
        metavar="NAME",
    )
    fit.add_argument("--output", type=Path, required=True, metavar="DIR", help="folder for the three files")
    fit.add_argument("--seed", type=int, default=0, help="seed of the random number generator (default 0)")
    fit.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a setting; may be repeated")
    fit.add_argument("--columns", default="", metavar="NAME=COLUMN,...", help="names of the columns in the file")
    fit.add_argument("--items", type=Path, help="CSV: item, then numeric features; may include items never compared")
    fit.add_argument(
        "--competitors",
        type=Path,
        help="CSV: item, competitor[, context][, tag]; also ranks the competitors, in leaderboard.csv",
    )
    fit.add_argument(
        "--set-competitors",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a setting of the leaderboard's fit; may be repeated",
    )
    fit.add_argument("--annotators", type=Path, help="CSV: annotator, then numeric features")
    fit.add_argument("--level", type=float, default=0.9, help="probability of the intervals (default 0.9)")
    fit.add_argument("--top-k", type=int, default=10, metavar="K", help="K of the column p_top_k (default 10)")
    fit.add_argument("--skip-bad-rows", action="store_true", help="leave out rows that cannot be used, and list them")
    fit.add_argument("--save-posterior", action="store_true", help="also write posterior.npz")
    again = commands.add_parser("reproduce", help="repeat the fit of a run record and compare")
    again.add_argument("record", type=Path, metavar="RECORD", help="the record's folder")
    return parser


def _list(options: argparse.Namespace) -> int:
    for name, entry in (ESTIMATORS | COUNT_ESTIMATORS).items():
        print(f"{name}\n    {entry.when}")
    return 0


def _fit(options: argparse.Namespace) -> int:
    if not 0 < options.level < 1 or options.top_k < 1:
        raise EngineError(f"--level {options.level} must be between 0 and 1, and --top-k {options.top_k} 1 or more.")
    _check_folder(options.output)
    if options.estimator == AUTOMATIC and options.set:
        raise EngineError("--set needs one estimator; name it with --estimator instead of Automatic.")
    labels = _read(options)
    for message in labels.refused:
        print(f"left out: {message}", file=sys.stderr)
    data = labels.data
    named = _competitors(options, labels)
    what = "counts" if isinstance(labels, Counts) else "labels"
    size = f"{data.n_labels:,} {what}, {data.n_items:,} items, {data.n_annotators:,} annotators"
    name = options.estimator
    if name == AUTOMATIC and isinstance(data, Comparisons):
        candidates = {one: ESTIMATORS[one].estimator() for one in candidate_names(data)}
        choice = choose_estimator(data, candidates, seed=options.seed, progress=_Progress())
        name = choice.name
        print(choice.reason, file=sys.stderr)
    estimator: Any
    estimator, settings = parse_settings(estimator_class(name), options.set)
    print(f"{name} on {size}", file=sys.stderr)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", NotConverged)
        posterior = estimator.fit(data, rng=np.random.default_rng(options.seed), progress=_Progress())
    for warning in caught:
        print(f"warning: {warning.message}", file=sys.stderr)
    summary = {"level": options.level, "k": options.top_k, "seed": options.seed}
    record = fit_record(labels, posterior, estimator=name, settings=settings, **summary)
    leaderboard = _leaderboard(options, named, data) if named and isinstance(data, Comparisons) else None
    write_fit(options.output, labels, posterior, record, **summary)
    if leaderboard:
        write_leaderboard(options.output, *leaderboard, **summary)
    if options.save_posterior:
        np.savez_compressed(options.output / "posterior.npz", allow_pickle=False, **posterior.to_arrays())
    verdict = "converged" if posterior.diagnostics.converged else "NOT CONVERGED"
    print(f"{verdict} in {posterior.diagnostics.seconds:.2f} s; wrote {options.output}", file=sys.stderr)
    return 0


def _read(options: argparse.Namespace) -> Labels | Counts:
    """Read the table that the estimator takes."""
    given = {
        "columns": dict(_renamings(options.columns)),
        "items": read_features(options.items) if options.items else None,
        "annotators": read_features(options.annotators) if options.annotators else None,
        "skip_bad_rows": options.skip_bad_rows,
    }
    if options.estimator not in COUNT_ESTIMATORS:
        return read_labels(options.labels, **given)
    if options.competitors:
        raise EngineError("--competitors needs comparisons; leave it out, or name another --estimator.")
    return read_counts(options.labels, **given)


def _competitors(options: argparse.Namespace, labels: Labels | Counts) -> Named | None:
    if not options.competitors or isinstance(labels, Counts):
        return None
    named = read_competitors(options.competitors, labels.items)
    named.table.contexts_of(labels.data)
    return named


def _check_folder(path: Path) -> None:
    """Raise EngineError, before anything is computed, where no files can be written to this folder."""
    there = next(one for one in (path, *path.absolute().parents) if one.exists() or one.is_symlink())
    if not there.is_dir():
        raise EngineError(f"--output {path}: {there} is a file; name a folder, which may be new.")
    if not os.access(there, os.W_OK | os.X_OK):
        raise EngineError(f"--output {path}: you may not write to {there}; name another folder.")


def _leaderboard(
    options: argparse.Namespace, named: Named, data: Comparisons
) -> tuple[Named, CompetitorPosterior, Evidence, Comparisons, dict[str, Any]]:
    """Return the arguments of `write_leaderboard`."""
    estimator, settings = parse_settings(Competitors, options.set_competitors)
    print(f"Competitors on {named.table.n_competitors:,} competitors", file=sys.stderr)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", NotConverged)
        posterior = estimator.fit(data, named.table, progress=_Progress())
    for warning in caught:
        print(f"warning: {warning.message}", file=sys.stderr)
    evidence = count_evidence(data, named.table, tied_ranks=estimator.tied_ranks)
    return named, posterior, evidence, data, settings


def _reproduce(options: argparse.Namespace) -> int:
    verdict = reproduce(options.record, progress=_Progress())
    print(verdict.words())
    return 0 if verdict.reproduced else 1


def _renamings(text: str) -> Iterator[tuple[str, str]]:
    for part in filter(None, text.split(",")):
        name, equals, column = part.partition("=")
        if not equals:
            raise EngineError(f"--columns {part!r} is not NAME=COLUMN; write for example winner=harder,loser=easier.")
        yield name, column


class _Progress:
    """Prints one line per second on stderr, and always the last step."""

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
