"""The methods page: model, settings, versions and counts of the published fit, a paragraph and BibTeX to copy."""

import re
import xml.etree.ElementTree as ET

import pytest
import yaml
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from annotate.criteria import Criterion
from annotate.fitting.arrays import stored_posterior
from annotate.models import Annotator, Label, Project, ResultsLink
from annotate.publishing.methods.citation import software, software_bibtex
from annotate.publishing.methods.mathml import mathml, readable
from annotate.publishing.methods.queries import methods_of
from models_engine.estimators.methods import METHODS
from models_engine.estimators.table import ESTIMATORS
from models_engine.models import Fit
from tests.conftest import NOW, make_annotator
from tests.paths import ROOT
from tests.site.api_client import Api
from tests.site.factories import make_labels, spread_fit
from tests.site.fitting.test_run import fit_now
from tests.site.machines import let_judge, make_machine
from tests.site.pages import page, signed_in


@pytest.fixture
def fitted(project):
    project.estimator, project.attention_every = "BradleyTerry", 10
    project.save()
    crowd = [make_annotator(project, f"Otter {i}") for i in range(3)]
    labels = make_labels(project, crowd, 30)
    Label.objects.filter(pk__in=[one.pk for one in labels[:2]]).update(voided_at=NOW, void_reason="undone")
    fit_now(project)
    return project


def test_the_page_tells_how_the_ranking_was_computed(fitted, vera):
    found = methods_of(Criterion(fitted))
    learned = float({one.name: one.value for one in found.fitted}["prior_sd"])
    posterior, _arrays = stored_posterior(Fit.objects.get(project_id=fitted.pk))
    assert learned == pytest.approx(posterior.prior_sd, rel=1e-3)
    assert 0.75 <= learned <= 6
    assert {one.name for one in found.versions} == {"crowdrank", "python", "numpy", "scipy"}
    assert (found.counts.counted, found.counts.voided) == (28, {"undone": 2})
    html = page(signed_in(vera), fitted, "methods")
    for told in (
        "<math display=",
        "Bradley–Terry",
        "One task in 10 was an attention check.",
        "28 answers about 6 items were analysed.",
        "Scales that are not set are learned from the labels",
        "@article{bradley1952,",
        "@misc{crowdrank,",
    ):
        assert told in html, told
    assert "davidson1970" not in html, "no tie was seen"
    assert html.count("<textarea") == 5
    api = Api(vera, fitted)("get", "methods").json()
    assert api["estimator"] == "BradleyTerry"
    assert api["paragraphs"]["en"] in html.replace("&#x27;", "'").replace("&amp;", "&")
    assert api["formulas"][0] == "P(i beats j) = 1 / (1 + exp(-(f_i - f_j)))"


def test_the_paragraph_comes_in_the_language_of_the_page_first(fitted, vera):
    browser, places = signed_in(vera), {}
    for code in ("en", "de", "es", "fr"):
        url = reverse("methods", args=[fitted.pk])
        shown = browser.get(url, headers={"Accept-Language": code}).content.decode()
        found = re.findall(r'<textarea id="paragraph-(\w+)"', shown)
        places[code] = found[0]
        assert sorted(found) == ["de", "en", "es", "fr"]
    assert places == {code: code for code in places}
    assert "28 réponses sur 6 éléments ont été analysées." in shown


def test_it_asks_as_often_for_many_labels_and_is_empty_before_the_first_fit(project, vera, django_assert_num_queries):
    assert "No ranking yet." in page(signed_in(vera), project, "methods")
    assert Api(vera, project)("get", "methods").status_code == 404
    spread_fit(project, list(project.items.order_by("pk")))
    make_labels(project, [make_annotator(project, "Otter")], 5)
    with django_assert_num_queries(8):
        methods_of(Criterion(project))


ELSEWHERE = "worker,left,right,label\n" + "".join(
    f"w{n % 4},item-{n % 5},item-{n % 5 + 1},item-{n % 5}\n" for n in range(20)
)
FIRST_WORDS = "annotators saw two items at a time and chose one (“Which argument is more convincing?”)."


def import_votes(project, tmp_path) -> None:
    file = tmp_path / "votes.csv"
    file.write_text(ELSEWHERE)
    call_command("import_file", "comparisons", str(project.pk), str(file))


def test_nothing_is_claimed_of_how_imported_answers_were_asked(project, vera, tmp_path):
    project.estimator, project.attention_every = "BradleyTerry", 10
    project.save()
    import_votes(project, tmp_path)
    fit_now(project)
    found = methods_of(Criterion(project))
    told = [
        "All answers, of 4 annotators, were collected elsewhere and imported.",
        "How their questions were chosen and shown is not recorded here.",
    ]
    assert (found.selection, found.checks) == (told, [])
    text = Api(vera, project)("get", "methods").json()["paragraphs"]["en"]
    assert text.startswith(" ".join([*told, "20 answers about 6 items were analysed."]))
    html = page(signed_in(vera), project, "methods")
    assert "attention check" not in html
    assert "compared least" not in html


def test_imported_answers_are_told_apart_from_those_asked_here(fitted, tmp_path):
    before = methods_of(Criterion(fitted)).paragraphs[0][2]
    assert before.startswith(f"3 {FIRST_WORDS}")
    assert "imported" not in before
    import_votes(fitted, tmp_path)
    fit_now(fitted)
    text = methods_of(Criterion(fitted)).paragraphs[0][2]
    assert text.startswith(f"3 {FIRST_WORDS}")
    assert "20 answers of 4 annotators were collected elsewhere and imported." in text
    assert "One task in 10 was an attention check." in text
    assert "48 answers about 6 items were analysed." in text


def test_who_answered_here_and_elsewhere_is_counted_in_both(fitted, tmp_path):
    import_votes(fitted, tmp_path)
    make_labels(fitted, list(Annotator.objects.filter(project=fitted, pseudonym__startswith="w")), 8, seed=1)
    fit_now(fitted)
    text = methods_of(Criterion(fitted)).paragraphs[0][2]
    assert text.startswith(f"7 {FIRST_WORDS}")
    assert "20 answers of 4 annotators were collected elsewhere and imported." in text


def test_machines_that_count_are_named_with_their_share(fitted):
    assert "of a person's answer" not in methods_of(Criterion(fitted)).paragraphs[0][2]
    for name in ("Judge", "Other"):
        let_judge(make_machine(fitted, name), lambda one, other: min(one, other, key=lambda item: item.pk))
    Project.objects.filter(pk=fitted.pk).update(count_machines=True)
    fit = fit_now(Project.objects.get(pk=fitted.pk))
    shares = sorted(one["share"] for one in fit.diagnostics["machines"])
    told = (
        f"60 answers of 2 machines were analysed besides, each as {shares[0]:.2f} to {shares[-1]:.2f} of a person's "
        "answer, by how far the machine's own ranking is from people's."
    )
    assert told in methods_of(Criterion(fitted)).paragraphs[0][2]


def test_strangers_see_it_only_where_the_owner_shows_it(project, alice):
    spread_fit(project, list(project.items.order_by("pk")))
    owner = signed_in(alice)
    for shows in ("", "on"):
        owner.post(reverse("results-links", args=[project.pk]), {"lifetime": "", "shows_methods": shows})
    hidden, shown = ResultsLink.objects.order_by("shows_methods")
    assert Client().get(reverse("results-methods", args=[hidden.token])).status_code == 404
    assert Client().get(reverse("api-results-methods", args=[hidden.token])).status_code == 404
    address = reverse("results-methods", args=[shown.token])
    assert address in Client().get(reverse("results", args=[shown.token])).content.decode()
    response = Client().get(address)
    assert "crowdrank" in response.content.decode()
    assert response["X-Robots-Tag"] == "noindex, nofollow"
    assert Client().get(reverse("api-results-methods", args=[shown.token])).json()["estimator"] == "CrowdBT"


@pytest.mark.parametrize("name", ESTIMATORS)
def test_formulas_are_well_formed_and_readable(name):
    method = METHODS[name]
    for formula in [*method.formulas, *([method.ties] if method.ties else [])]:
        ET.fromstring(mathml(formula))
        assert not set("{}") & set(readable(formula))


def test_a_formula_is_escaped_and_nested():
    assert mathml("frac{1}{1 + f_{ui}^2}").count("<msup>") == 1
    assert readable("frac{ν}{2 + ν} < 1") == "ν / (2 + ν) < 1"
    assert "<script" not in mathml("<script>")


def test_the_citation_file_is_valid_and_read_as_yaml_reads_it():
    told = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert {"cff-version", "message", "title", "authors"} <= told.keys()
    assert (told["cff-version"], told["type"]) == ("1.2.0", "software")
    assert all(one.keys() & {"name", "family-names"} for one in told["authors"])
    expected = {"name": told["authors"][0]["name"], "title": told["title"], "license": told["license"]}
    assert software() == {**expected, "version": str(told["version"])}
    assert "Version 9.9" in software_bibtex("9.9")
