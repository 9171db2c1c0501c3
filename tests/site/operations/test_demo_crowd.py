"""The demo's simulated people and projects: marked as simulated, different from one another, seen by the engine."""

import io
import random
from collections import Counter

import numpy as np
import pytest
from django.utils import timezone
from PIL import Image

from annotate.annotators.tastes import queue as tastes_queue
from annotate.core.errors import ProjectNotOpen
from annotate.criteria import Criterion
from annotate.dashboard.leaderboard.queries import stored_board
from annotate.demo.answers import make_leaderboard
from annotate.demo.board_texts import MODELS, PROMPTS, answer_of
from annotate.demo.crowd import CLICKER, CONTRARY, JUDGES, SIZE, Crowd, people, share_of_rate, utility_of
from annotate.demo.jury import make_jury
from annotate.demo.poll import make_poll
from annotate.demo.posters import CONTEST, posters
from annotate.demo.posters import SIZE as POSTER_SIZE
from annotate.demo.projects import make_ideas, make_mottoes, make_posters, set_owner
from annotate.demo.texts import IDEAS
from annotate.fitting import run as fitting_run
from annotate.fitting import scheduling
from annotate.fitting.published import published_fit
from annotate.fitting.reading import read_labels
from annotate.models import (
    Annotator,
    AnnotatorTaste,
    DerivedRanking,
    Event,
    ExpectedPerson,
    Idea,
    Item,
    ItemComment,
    Label,
    Project,
    TasteMap,
)
from models_engine.estimators.collaborative.gp import CollaborativeGP
from models_engine.models import Estimate
from tests.conftest import NOW
from tests.site.task_types import set_task

pytestmark = pytest.mark.embedded


@pytest.fixture
def crowd(project) -> Crowd:
    return Crowd(project, random.Random(1))


def test_everybody_is_named_and_marked_as_simulated(crowd):
    annotators = Annotator.objects.order_by("pk")
    assert [annotator.pseudonym for annotator in annotators] == [f"Simulated {n:02d}" for n in range(1, SIZE + 1)]
    assert {annotator.source for annotator in annotators} == {"simulated"}
    Crowd(crowd.project, random.Random(2))
    assert Annotator.objects.count() == SIZE, "a crowd started again is the same people"


@pytest.mark.slow
def test_they_answer_until_every_pair_has_its_overlap_and_then_rest(project, crowd):
    labels = 0
    while crowd.answer(NOW):
        labels += 1
    assert labels == 15 * project.overlap
    assert crowd.has_finished
    assert crowd.answer(NOW) is None
    Item.objects.create(project=project, key="new", body="One more")
    crowd.restart()
    assert crowd.answer(NOW).presentation.items.filter(key="new").exists()


def test_a_closed_project_gets_no_answers(project, crowd):
    Project.objects.update(state="closed")
    with pytest.raises(ProjectNotOpen):
        crowd.answer(NOW)


@pytest.mark.slow
def test_only_allowed_outcomes_are_given(project, crowd):
    project.outcomes = []
    project.save()
    for _ in range(30):
        assert crowd.answer(NOW).outcome == "choice"


def test_tastes_are_hidden_but_fixed_and_differ(project):
    items = list(project.items.all())
    one, two = people()[0], people()[2]
    assert people() == people()
    assert one.camp > 0 > two.camp
    first = [utility_of(project, one, item) for item in items]
    assert first == [utility_of(project, one, item) for item in items]
    assert first != [utility_of(project, two, item) for item in items]


def test_texts_are_forty_different_ones():
    texts = [text for texts in IDEAS.values() for text in texts]
    assert len(texts) == len(set(texts)) == 40
    assert max(map(len, texts)) < 120


@pytest.mark.slow
def test_posters_are_pictures_that_differ():
    found = [*posters(), *posters(CONTEST)]
    assert len(found) == len({poster.png for poster in found}) == len({poster.caption for poster in found}) == 24 + 20
    for poster in found:
        with Image.open(io.BytesIO(poster.png)) as picture:
            assert picture.size == POSTER_SIZE
            assert len(picture.convert("RGB").getcolors(100_000)) > 3


@pytest.mark.slow
def test_the_demo_projects_and_what_the_engine_makes_of_them(db, settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path
    owner = set_owner("correct horse battery")
    ideas, pictures = make_ideas(owner, NOW), make_posters(owner, NOW)
    for project, n_items in ((ideas, 40), (pictures, 24)):
        project.refresh_from_db()
        assert (project.state, project.simulated, project.items.count()) == ("open", True, n_items)
        labels = Label.objects.filter(project=project)
        assert labels.filter(created_at__gt=NOW).count() == 0
        assert len(set(labels.values_list("created_at__hour", flat=True))) > 3, "the first page shows labels over time"
        assert set(Counter(labels.values_list("outcome", flat=True))) > {"choice", "tie"}
    assert all(item.media.storage.exists(item.media.name) for item in pictures.items.all())

    Project.objects.update(estimator="BradleyTerry")
    for _ in range(2):
        claim = scheduling.claim_next(owner="test", now=NOW)
        fitting_run.run(claim, progress=lambda *_: True, clock=lambda: NOW)
    rows = Estimate.objects.filter(fit__project_id=ideas.pk)
    truth = {item.pk: sum(utility_of(ideas, person, item) for person in people()) for item in ideas.items.all()}
    assert kendall([(truth[row.item_id], row.utility) for row in rows]) > 0.4


@pytest.mark.slow
@pytest.mark.usefixtures("quick_draws")
def test_the_taste_map_of_the_ideas_finds_the_two_camps_and_who_is_in_which(db):
    ideas = make_ideas(set_owner("correct horse battery"), NOW)
    claim = scheduling.claim_next(owner="test", now=NOW)
    fitting_run.run(claim, progress=lambda *_: True, clock=lambda: NOW)
    row = tastes_queue.QUEUE.claim_next(owner="test", now=timezone.now())
    tastes_queue.QUEUE.work(row, progress=lambda *_: True)
    found = TasteMap.objects.get(project=ideas)
    assert (found.n_groups, found.n_grouped) == (2, SIZE - 2)
    camps = {person.name: person.camp > 0 for person in people()}
    groups = AnnotatorTaste.objects.filter(annotator__project=ideas, fit_number=found.fit_number, group__isnull=False)
    pairs = Counter((row.group, camps[row.annotator.pseudonym]) for row in groups.select_related("annotator"))
    assert sum(count for _, count in pairs.most_common(2)) == SIZE - 2, "a group is a camp, nobody is in the other"
    assert len({group for (group, _), _ in pairs.most_common(2)}) == 2


@pytest.mark.slow
@pytest.mark.large  # what the test above asks of one run of the draws, of four
def test_no_run_of_the_draws_takes_the_smaller_camp_of_the_ideas_for_careless_people(db):
    ideas = make_ideas(set_owner("correct horse battery"), NOW)
    labels = read_labels(Criterion(ideas))
    assert labels is not None
    for seed in range(4):
        posterior = CollaborativeGP().fit(labels.data, rng=np.random.default_rng(seed))
        assert posterior.annotator_summary().reliability.min() > 0.75
        assert int(posterior.tastes.n_told) == 1, "the camps are one component of taste"


@pytest.mark.parametrize(
    ("name", "low", "high"), [("Simulated 01", 0.85, 1), ("Simulated 15", 0, 0.25), ("Simulated 07", 0.4, 0.6)]
)
def test_the_careful_the_contrary_and_the_clicker(crowd, name, low, high):
    """How often each chooses the item that is 4 logits better; on whichever side it stands."""
    person = next(person for person in crowd.people if person.name == name)
    answers = [crowd.outcome(person, [2, -2] if side else [-2, 2]) for side in (0, 1) for _ in range(400)]
    right = [order == [place < 400] for place, (outcome, order) in enumerate(answers) if outcome == "choice"]
    assert len(right) > 600
    assert low <= sum(right) / len(right) <= high


@pytest.mark.slow
@pytest.mark.parametrize("task", [("best", 3, None), ("best_worst", 4, None), ("ranking", 4, None), ("top", 5, 2)])
def test_the_crowd_answers_every_task_by_its_taste(project, task):
    crowd = Crowd(set_task(project, *task, overlap=9), random.Random(1))
    for _ in range(40):
        crowd.answer(NOW)
    asked = Label.objects.exclude(outcome__in=["skip", "cant_judge"])
    assert asked.count() > 30
    assert set(asked.values_list("outcome", flat=True)) == {"choice" if task[0] == "best" else task[0]}
    careful = crowd.people[0]
    orders = [crowd.outcome(careful, [0, 3, *[-3] * (task[1] - 2)]) for _ in range(200)]
    first = [order[0] for outcome, order in orders if outcome not in ("skip", "cant_judge")]
    assert 0.8 < first.count(1) / len(first) < 1


@pytest.mark.slow
def test_the_rankings_of_the_demo_and_what_the_engine_makes_of_them(db):
    mottoes = make_mottoes(set_owner("correct horse battery"), NOW)
    labels = Label.objects.filter(project=mottoes)
    assert labels.count() == 300
    assert labels.filter(outcome="ranking").count() > 250
    claim = scheduling.claim_next(owner="test", now=NOW)
    fitting_run.run(claim, progress=lambda *_: True, clock=lambda: NOW)
    truth = {item.pk: sum(utility_of(mottoes, person, item) for person in people()) for item in mottoes.items.all()}
    rows = Estimate.objects.filter(fit__project_id=mottoes.pk)
    assert kendall([(truth[row.item_id], row.utility) for row in rows]) > 0.4


@pytest.mark.slow
def test_the_two_careless_people_are_excluded_from_the_ideas_with_a_reason(db):
    ideas = make_ideas(set_owner("correct horse battery"), NOW, n_labels=200)
    excluded = Annotator.objects.exclude(excluded_at=None)
    assert set(excluded.values_list("pseudonym", flat=True)) == {CLICKER, CONTRARY}
    assert not Label.objects.filter(annotator__in=excluded, voided_at=None).exists()
    assert ideas.labels.filter(voided_at=None).exists()
    assert all(event.details["reason"] for event in Event.objects.filter(verb="annotator excluded"))


@pytest.mark.slow
def test_the_jury_has_judges_tracks_comments_and_a_weighted_total(db, settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path
    jury = make_jury(set_owner("correct horse battery"), NOW)
    assert jury.items.count() == 20
    assert set(jury.tags.values_list("name", flat=True)) == {"Schools", "Studios"}
    assert all(item.name for item in jury.items.all())
    joined = ExpectedPerson.objects.filter(project=jury).exclude(annotator=None)
    assert set(joined.values_list("name", flat=True)) == set(JUDGES)
    assert set(jury.annotators.values_list("source", flat=True)) == {"link"}
    for person in joined:
        shown = person.annotator.presentations.values_list("items", flat=True)
        assert not set(shown) & set(person.conflicts.exclude(item=None).values_list("item", flat=True))
        banned = person.conflicts.exclude(tag=None).values_list("tag", flat=True)
        assert not jury.items.filter(pk__in=shown, tags__in=banned).exists()
    assert ItemComment.objects.exclude(released_at=None).exists()
    assert jury.entry_links.count() == 20
    assert jury.results_links.get().hides_names

    claim = scheduling.claim_next(owner="test", now=NOW)
    fitting_run.run(claim, progress=lambda *_: True, clock=lambda: NOW)
    total = DerivedRanking.objects.get(project=jury, criterion=0, track="")
    assert total.columns
    assert len(DerivedRanking.objects.exclude(track="").filter(project=jury, criterion=0)) == 2


@pytest.mark.slow
def test_the_leaderboard_ranks_the_models_as_the_crowd_likes_them(db):
    board = make_leaderboard(set_owner("correct horse battery"), NOW)
    board.refresh_from_db()
    assert board.has_competitors
    for shown in board.presentations.prefetch_related("items")[:50]:
        assert len({item.context_id for item in shown.items.all()}) == 1, "answers to one prompt are compared"
    claim = scheduling.claim_next(owner="test", now=NOW)
    fitting_run.run(claim, progress=lambda *_: True, clock=lambda: NOW)
    found = board_of(board)
    assert found["problem"] == ""
    assert [row["name"] for row in found["rows"]][-1] == "Elder"
    assert {tag["name"] for tag in found["tags"]} == {prompt.subject for prompt in PROMPTS}
    assert found["style"]


def board_of(project: Project) -> dict:
    return stored_board(published_fit(Criterion(project)))


def test_the_models_answer_every_prompt_differently():
    for prompt in PROMPTS:
        assert len({answer_of(model, prompt) for model in MODELS}) == len(MODELS)


@pytest.mark.slow
def test_the_poll_has_ideas_of_every_state_and_two_languages(db):
    poll = make_poll(set_owner("correct horse battery"), NOW)
    poll.refresh_from_db()
    assert (poll.language, poll.languages) == ("en", ["de"])
    assert set(Idea.objects.values_list("state", flat=True)) == {"approved", "waiting", "merged", "refused"}
    assert poll.items.filter(translations__language="de").exclude(translations__body="").count() == 20
    assert poll.labels.filter(presentation__items__tags__name="idea").exists()


def test_a_crowd_answers_ever_more_rarely_but_never_stops():
    shares = [share_of_rate(n, 5000) for n in (0, 1000, 3000, 4900, 5000)]
    assert shares[0] == 1
    assert shares == sorted(shares, reverse=True)
    assert shares[-1] > 0


def kendall(pairs: list[tuple[float, float]]) -> float:
    signs = [(a - c) * (b - d) for i, (a, b) in enumerate(pairs) for c, d in pairs[:i]]
    return sum((sign > 0) - (sign < 0) for sign in signs) / len(signs)
