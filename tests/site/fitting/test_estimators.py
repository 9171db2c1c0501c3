"""The site's list of estimators is the engine's, but for those that it says it does not offer."""

import pytest

from annotate.fitting.estimator_choices import (
    CAUTIONS,
    CHOICES,
    COUNT_GRADES,
    ESTIMATORS,
    NOT_OFFERED,
    SHORT_CAUTIONS,
    WINNERS_ALONE,
)
from annotate.models import Project
from models_engine.estimators.methods import METHODS
from models_engine.estimators.table import ESTIMATORS as OF_THE_ENGINE

pytestmark = pytest.mark.embedded


def test_owners_may_choose_what_the_engine_has():
    assert set(ESTIMATORS) | NOT_OFFERED == set(OF_THE_ENGINE)
    assert not NOT_OFFERED & set(ESTIMATORS)


def test_the_default_is_one_of_them():
    assert Project._meta.get_field("estimator").default in ESTIMATORS


def test_only_what_is_offered_is_warned_of():
    assert set(SHORT_CAUTIONS) == set(CAUTIONS) <= set(ESTIMATORS)


def test_each_choice_says_whether_it_counts_how_much_better_an_item_is():
    counting = {name for name, method in METHODS.items() if method.grades}
    assert set(COUNT_GRADES) == counting & set(ESTIMATORS)
    assert all((str(WINNERS_ALONE) in str(CHOICES[name])) == (name not in counting) for name in ESTIMATORS)
