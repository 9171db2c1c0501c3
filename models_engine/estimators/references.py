"""REFERENCES: the papers behind the estimators and figures, one row each, and their BibTeX."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

__all__ = ["REFERENCES", "Reference", "bibliography", "bibtex"]


@dataclass(frozen=True)
class Reference:
    """A publication. kind: article, inproceedings, book or software (BibTeX's entry types; software becomes misc).

    where: the journal, the proceedings or the publisher, by kind.   more: further fields of the entry.
    """

    kind: str
    authors: str
    year: int
    title: str
    where: str
    more: Mapping[str, str]

    @property
    def people(self) -> list[str]:
        """Return the authors, each as “Surname, Initials”."""
        return [one.strip() for one in re.sub(r"(?<=\.), ", " & ", self.authors).split(" & ")]

    @property
    def short(self) -> str:
        """Return the reference as it stands within a sentence: Bradley & Terry 1952."""
        names = [one.partition(",")[0] for one in self.people]
        return f"{' & '.join(names) if len(names) < 3 else f'{names[0]} et al.'} {self.year}"

    def line(self) -> str:
        """Return the reference as one line of a list."""
        numbers = ", ".join(self.more[name] for name in ("volume", "pages") if name in self.more)
        return f"{self.authors} ({self.year}). {self.title}. {self.where}{f' {numbers}' if numbers else ''}."


def bibtex(key: str, reference: Reference) -> str:
    """Return a BibTeX entry; braces keep the title's capitals."""
    kind = {"software": "misc"}.get(reference.kind, reference.kind)
    place = {"article": "journal", "inproceedings": "booktitle", "book": "publisher"}.get(kind, "howpublished")
    fields = {
        "author": " and ".join(reference.people),
        "title": f"{{{reference.title}}}",
        place: reference.where,
        "year": str(reference.year),
        **{name: value.replace("–", "--") for name, value in reference.more.items()},
    }
    lines = ",\n".join(f"  {name} = {{{_escape(value)}}}" for name, value in fields.items())
    return f"@{kind}{{{key},\n{lines}\n}}"


def _escape(value: str) -> str:
    """Escape what TeX takes for a command."""
    return value.replace("&", r"\&").replace("%", r"\%").replace("#", r"\#")


def _article(authors: str, year: int, title: str, journal: str, volume: str = "", pages: str = "") -> Reference:
    more = {name: value for name, value in (("volume", volume), ("pages", pages)) if value}
    return Reference("article", authors, year, title, journal, more)


def _paper(authors: str, year: int, title: str, proceedings: str, pages: str = "") -> Reference:
    return Reference("inproceedings", authors, year, title, proceedings, {"pages": pages} if pages else {})


def _book(authors: str, year: int, title: str, publisher: str) -> Reference:
    return Reference("book", authors, year, title, publisher, {})


REFERENCES: dict[str, Reference] = {
    "albert1993": _article(
        "Albert, J. H. & Chib, S.",
        1993,
        "Bayesian analysis of binary and polychotomous response data",
        "Journal of the American Statistical Association",
        "88",
        "669–679",
    ),
    "bechger2003": _article(
        "Bechger, T. M., Maris, G., Verstralen, H. H. F. M. & Béguin, A. A.",
        2003,
        "Using classical test theory in combination with item response theory",
        "Applied Psychological Measurement",
        "27",
        "319–334",
    ),
    "bradley1952": _article(
        "Bradley, R. A. & Terry, M. E.",
        1952,
        "Rank analysis of incomplete block designs: I. The method of paired comparisons",
        "Biometrika",
        "39",
        "324–345",
    ),
    "caron2012": _article(
        "Caron, F. & Doucet, A.",
        2012,
        "Efficient Bayesian inference for generalized Bradley–Terry models",
        "Journal of Computational and Graphical Statistics",
        "21",
        "174–196",
    ),
    "chen2013": _paper(
        "Chen, X., Bennett, P. N., Collins-Thompson, K. & Horvitz, E.",
        2013,
        "Pairwise ranking aggregation in a crowdsourced setting",
        "Proceedings of the Sixth ACM International Conference on Web Search and Data Mining (WSDM)",
        "193–202",
    ),
    "chu2005": _paper(
        "Chu, W. & Ghahramani, Z.",
        2005,
        "Preference learning with Gaussian processes",
        "Proceedings of the 22nd International Conference on Machine Learning (ICML)",
        "137–144",
    ),
    "agresti1992": _article(
        "Agresti, A.",
        1992,
        "Analysis of ordinal paired comparison data",
        "Journal of the Royal Statistical Society, Series C",
        "41",
        "287–297",
    ),
    "mccullagh1980": _article(
        "McCullagh, P.",
        1980,
        "Regression models for ordinal data",
        "Journal of the Royal Statistical Society, Series B",
        "42",
        "109–142",
    ),
    "rao1967": _article(
        "Rao, P. V. & Kupper, L. L.",
        1967,
        "Ties in paired-comparison experiments: a generalization of the Bradley–Terry model",
        "Journal of the American Statistical Association",
        "62",
        "194–204",
    ),
    "davidson1970": _article(
        "Davidson, R. R.",
        1970,
        "On extending the Bradley–Terry model to accommodate ties in paired comparison experiments",
        "Journal of the American Statistical Association",
        "65",
        "317–328",
    ),
    "fay1979": _article(
        "Fay, R. E. & Herriot, R. A.",
        1979,
        "Estimates of income for small places: an application of James-Stein procedures to census data",
        "Journal of the American Statistical Association",
        "74",
        "269–277",
    ),
    "patterson1971": _article(
        "Patterson, H. D. & Thompson, R.",
        1971,
        "Recovery of inter-block information when block sizes are unequal",
        "Biometrika",
        "58",
        "545–554",
    ),
    "guo2019": _paper(
        "Guo, Y., Dy, J., Erdoğmuş, D., Kalpathy-Cramer, J., Ostmo, S., Campbell, J. P., Chiang, M. F. & Ioannidis, S.",
        2019,
        "Variational inference from ranked samples with features",
        "Proceedings of the Eleventh Asian Conference on Machine Learning (ACML), PMLR 101",
        "599–614",
    ),
    "khan2014": _paper(
        "Khan, M. E., Ko, Y. J. & Seeger, M.",
        2014,
        "Scalable collaborative Bayesian preference learning",
        "Proceedings of the Seventeenth International Conference on Artificial Intelligence and Statistics (AISTATS)",
        "475–483",
    ),
    "kiritchenko2017": _paper(
        "Kiritchenko, S. & Mohammad, S. M.",
        2017,
        "Best-worst scaling more reliable than rating scales: A case study on sentiment intensity annotation",
        "Proceedings of the 55th Annual Meeting of the Association for Computational Linguistics (ACL)",
        "465–470",
    ),
    "krippendorff2019": _book(
        "Krippendorff, K.", 2019, "Content Analysis: An Introduction to Its Methodology, 4th edition", "SAGE"
    ),
    "luce1959": _book("Luce, R. D.", 1959, "Individual Choice Behavior: A Theoretical Analysis", "Wiley"),
    "mackay1992": _article("MacKay, D. J. C.", 1992, "Bayesian interpolation", "Neural Computation", "4", "415–447"),
    "minka2001": _paper(
        "Minka, T. P.",
        2001,
        "Expectation propagation for approximate Bayesian inference",
        "Proceedings of the Seventeenth Conference on Uncertainty in Artificial Intelligence (UAI)",
        "362–369",
    ),
    "opper2009": _article(
        "Opper, M. & Archambeau, C.",
        2009,
        "The variational Gaussian approximation revisited",
        "Neural Computation",
        "21",
        "786–792",
    ),
    "plackett1975": _article(
        "Plackett, R. L.",
        1975,
        "The analysis of permutations",
        "Journal of the Royal Statistical Society, Series C (Applied Statistics)",
        "24",
        "193–202",
    ),
    "simpson2020": _article(
        "Simpson, E. & Gurevych, I.",
        2020,
        "Scalable Bayesian preference learning for crowds",
        "Machine Learning",
        "109",
        "689–718",
    ),
    "thurstone1927": _article(
        "Thurstone, L. L.", 1927, "A law of comparative judgment", "Psychological Review", "34", "273–286"
    ),
    "varin2011": _article(
        "Varin, C., Reid, N. & Firth, D.",
        2011,
        "An overview of composite likelihood methods",
        "Statistica Sinica",
        "21",
        "5–42",
    ),
    "xu2018": _article(
        "Xu, H., Alvo, M. & Yu, P. L. H.",
        2018,
        "Angle-based models for ranking data",
        "Computational Statistics & Data Analysis",
        "121",
        "113–136",
    ),
}


def bibliography(keys: Iterable[str]) -> str:
    """Return the BibTeX entries of these keys, in alphabetical order, each once."""
    return "\n\n".join(bibtex(key, REFERENCES[key]) for key in sorted(set(keys)))
