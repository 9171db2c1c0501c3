"""Adds to a run record what an analysis needs: all answers, item texts, codebook, methods, and two scripts."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from django.utils.translation import gettext_lazy as _

from annotate.criteria import Criterion
from annotate.files.columns import Column, Kind
from annotate.files.writers import FORMATS, csv_chunks
from annotate.labelling.answer_options import button_words
from annotate.models import Project
from annotate.publishing.exports.registry import TABLES
from annotate.publishing.methods.queries import methods_of
from annotate.publishing.preregistration.queries import preregistration_of
from models_engine.estimators.bradley_terry import QUICK
from models_engine.estimators.methods import METHODS

SCRIPTS = Path(__file__).parent / "scripts"
# Tables of the export page, by the name of their file in the record.
FILES = {"answers.csv": "labels", "item_texts.csv": "items", "published.csv": "ranking", "deviations.csv": "deviations"}
DEFAULTS = {"inference": "auto", "prior_sd": None, "tie_sd": 3.0, "ties": "davidson"}
OWN = {
    "labels.csv": [
        Column("annotator", _("Pseudonym, percent-encoded where a list or a spreadsheet would break.")),
        Column("set", _("Keys of the items in the order shown, separated by semicolons, percent-encoded.")),
        Column("ranks", _("Rank of each of them: 0 is best; equal ranks were not told apart, in a pair a tie.")),
        Column("weight", _("Weight of the answer in the fit."), Kind.NUMBER),
        Column("grade", _("How much better the preferred item of a pair is, 1 least; only where that is asked.")),
        Column("tied", _("1 where equal ranks of three or more items are ties; only where places may be shared.")),
    ],
    "counts.csv": [
        Column("annotator", _("Pseudonym, percent-encoded.")),
        Column("item", _("The item's key, percent-encoded.")),
        Column("count", _("How often or how long, as the imported file says."), Kind.INTEGER),
        Column("exposure", _("How often or how long it could have been; 1 where the file said nothing."), Kind.NUMBER),
    ],
    "items.csv": [
        Column("item", _("The item's key, percent-encoded.")),
        Column("feature_0, …", _("Features of the item that the fit used."), Kind.NUMBER),
    ],
    "annotators.csv": [
        Column("annotator", _("Pseudonym, percent-encoded.")),
        Column("feature_0, …", _("Numbers of the questionnaire that the fit used."), Kind.NUMBER),
    ],
    "ranking.csv": [
        Column("item", _("The item's key, percent-encoded.")),
        Column("utility", _("Posterior mean of the utility in a fit from these files alone."), Kind.NUMBER),
        Column("sd", _("Posterior standard deviation of the utility."), Kind.NUMBER),
        # xgettext:no-python-format
        Column("low", _("Lower end of the 90% interval of the utility."), Kind.NUMBER),
        # xgettext:no-python-format
        Column("high", _("Upper end of the 90% interval of the utility."), Kind.NUMBER),
        Column("rank", _("Place by utility within its connected part; 1 is the best."), Kind.INTEGER),
        # xgettext:no-python-format
        Column("rank_low", _("Best place inside the 90% interval of the rank."), Kind.INTEGER),
        # xgettext:no-python-format
        Column("rank_high", _("Worst place inside the 90% interval of the rank."), Kind.INTEGER),
        Column("p_top_k", _("Probability of being among the best k; k is in record.json."), Kind.NUMBER),
        Column("n_comparisons", _("Number of comparisons of this item in the fit."), Kind.INTEGER),
        Column("part", _("Number of the connected part; 1 is the largest."), Kind.INTEGER),
    ],
}
PREDICTED = "predicted.csv"  # has the columns of ranking.csv, where there are predicted places
IN_UTILITIES = frozenset({"utility", "sd", "low", "high", "taste_distance", "divisiveness"})
TYPES = {
    Kind.TEXT: "text",
    Kind.INTEGER: "whole number",
    Kind.NUMBER: "number",
    Kind.TRUTH: "true or false",
    Kind.MOMENT: "date and time (ISO 8601)",
    Kind.TEXTS: "JSON list of texts",
    Kind.GROUPS: "JSON list of lists of texts",
    Kind.OBJECT: "JSON",
}


def write_analysis(criterion: Criterion, folder: Path, record: Mapping[str, Any]) -> None:
    """Write the files beside those of the record."""
    project = criterion.project
    for name, table in FILES.items():
        _write(folder / name, FORMATS["csv"][1](TABLES[table].columns(project), TABLES[table].rows(criterion)))
    rows = codebook(project, str(record["estimator"]), predicts=bool(record["predicted"]))
    _write(folder / "codebook.csv", csv_chunks(["file", "column", "type", "unit", "meaning"], rows))
    if not project.ranks_counts:  # it fits the Bradley-Terry model to answers
        (folder / "analysis.R").write_text(r_script(record), encoding="utf-8")
    (folder / "analysis.py").write_text((SCRIPTS / "analysis.py.txt").read_text(encoding="utf-8"), encoding="utf-8")
    write_texts(criterion, folder)


def write_texts(criterion: Criterion, folder: Path) -> None:
    """Write the methods paragraphs with their references, and the frozen plan where there is one."""
    found, frozen = methods_of(criterion), preregistration_of(criterion.project)
    if found:
        texts = "\n\n".join(f"{language}\n{text}" for _code, language, text in found.paragraphs)
        (folder / "methods.txt").write_text(texts + "\n", encoding="utf-8")
        (folder / "references.bib").write_text(found.bibtex, encoding="utf-8")
    if frozen:
        (folder / "preregistration.json").write_text(frozen.document, encoding="utf-8")


def r_script(record: Mapping[str, Any]) -> str:
    """Return analysis.R for the estimator of the record, with its settings where it has them."""
    settings: Mapping[str, Any] = DEFAULTS
    learned = QUICK.prior_sd  # of an estimator that the script does not repeat
    if record["estimator"] == "BradleyTerry":
        settings, learned = DEFAULTS | record["settings"], record["hyperparameters"]["prior_sd"]
        if settings["prior_sd"] is None and learned == QUICK.prior_sd:  # it was not learned: the mode took its place
            settings = {**settings, "inference": "map"}
    text = (SCRIPTS / "analysis.R").read_text(encoding="utf-8")
    values = {name: settings[name] for name in DEFAULTS} | {"estimator": record["estimator"], "learned_sd": learned}
    for name, value in values.items():
        text = text.replace(f"@{name}@", "NA" if value is None else str(value))
    return text


def codebook(project: Project, estimator: str, *, predicts: bool = False) -> Iterator[list[str]]:
    """Yield a row for every column of every file, and one for the words of each button that annotators read."""
    method = METHODS.get(estimator)
    link = method.link if method else ""
    of_tables = {name: list(TABLES[table].columns(project)) for name, table in FILES.items()}
    absent = "labels.csv" if project.ranks_counts else "counts.csv"
    own = OWN | ({PREDICTED: OWN["ranking.csv"]} if predicts else {})
    for name, columns in {**own, **of_tables}.items():
        if name == absent:
            continue
        for column in columns:
            yield [name, column.name, TYPES[column.kind], unit_of(column.name, link), str(column.meaning)]
    for name, words in button_words(project):
        yield ["", name, "text", "", str(_("Words that annotators read: “%(words)s”.")) % {"words": words}]


def unit_of(column: str, link: str) -> str:
    """Return the unit of a column; "" where it has none."""
    if column in IN_UTILITIES:
        return link
    if column.endswith("seconds"):
        return "s"
    if column.endswith("_at") or column == "at":
        return "UTC"
    if column.startswith("score"):
        return "per cent"
    return "count" if column.startswith("n_") else ""


def _write(path: Path, chunks: Iterator[bytes]) -> None:
    with path.open("wb") as file:
        for chunk in chunks:
            file.write(chunk)
