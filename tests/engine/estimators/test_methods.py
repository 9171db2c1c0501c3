"""Facts for a methods section: every estimator has them, with papers that exist and settings that it has."""

from dataclasses import fields
from typing import Literal, get_args, get_origin, get_type_hints

import pytest

from models_engine.estimators.methods import CROWD_BETA, METHODS
from models_engine.estimators.references import REFERENCES, bibliography
from models_engine.estimators.table import COUNT_ESTIMATORS, ESTIMATORS, estimator_class
from models_engine.inference.tastes.reliability import MEANS, P_CARELESS, SIZES


def test_every_estimator_has_its_facts():
    assert METHODS.keys() == ESTIMATORS.keys() | COUNT_ESTIMATORS.keys()


@pytest.mark.parametrize("name", METHODS)
def test_facts_agree_with_the_estimator(name):
    method, estimator = METHODS[name], estimator_class(name)
    hints = get_type_hints(estimator)
    modes = get_args(hints["inference"]) if get_origin(hints.get("inference")) is Literal else ("",)
    assert set(method.inference) == set(modes)
    named = {*method.references, *(key for keys in method.more_references.values() for key in keys)}
    assert named <= REFERENCES.keys()
    assert set(method.more_references) <= set(modes)
    has_davidson = "davidson" in get_args(hints.get("ties"))
    assert bool(method.ties) == has_davidson
    assert {one.name for one in fields(estimator)}


def test_the_prior_of_reliabilities_is_the_one_that_the_fit_has():
    ends = [f"{value:g}".removeprefix("0") for values in (MEANS, SIZES) for value in (values.min(), values.max())]
    assert "from {} to {}, and how many answers it is worth, from {} to {}".format(*ends) in CROWD_BETA
    assert "one annotator in ten" in CROWD_BETA
    assert P_CARELESS == 1 / 10


def test_bibtex_separates_authors_and_braces_are_balanced():
    text = bibliography(["chen2013", "bradley1952", "chen2013"])
    assert text.count("@") == 2
    assert text.index("bradley1952") < text.index("chen2013")
    assert "Chen, X. and Bennett, P. N. and Collins-Thompson, K. and Horvitz, E." in text
    for key in REFERENCES:
        entry = bibliography([key])
        assert entry.count("{") == entry.count("}")
        assert "&" not in entry.replace(r"\&", "")
    assert [REFERENCES[key].short for key in ("bradley1952", "chen2013", "luce1959")] == [
        "Bradley & Terry 1952",
        "Chen et al. 2013",
        "Luce 1959",
    ]


def test_the_authors_of_the_papers_that_models_come_from_are_those_on_their_first_pages():
    authors = {
        "guo2019": "Guo Dy Erdoğmuş Kalpathy-Cramer Ostmo Campbell Chiang Ioannidis",
        "khan2014": "Khan Ko Seeger",
        "simpson2020": "Simpson Gurevych",
        "xu2018": "Xu Alvo Yu",
    }
    found = {key: " ".join(one.partition(",")[0] for one in REFERENCES[key].people) for key in authors}
    assert found == authors
