"""What the engine says can be said in another language: which sentence it is, and what was put in."""

import copy
import pickle

import pytest

from models_engine.errors import TooLarge
from models_engine.linalg import MAX_MATRIX_ITEMS, check_dense
from models_engine.messages import Message, gettext_noop, message_of

STEP = Message.of("largest step %(size)s of %(n)d", size="1e-08", n=7)


def test_it_is_a_text_in_english():
    assert f"{STEP}" == "largest step 1e-08 of 7"
    assert STEP.parts == (("largest step %(size)s of %(n)d", {"size": "1e-08", "n": 7}),)
    assert gettext_noop("100%") == "100%"


def test_several_are_one_with_all_their_parts():
    both = Message.joined(STEP, "singular matrix; 5%", STEP)
    assert both == f"{STEP}; singular matrix; 5%; {STEP}"
    assert "; ".join(msgid % arguments for msgid, arguments in both.parts) == both


@pytest.mark.parametrize("copied", [copy.deepcopy, copy.copy, lambda one: pickle.loads(pickle.dumps(one))])
def test_copies_are_messages(copied):
    """Between processes, and where a dataclass is made a dictionary."""
    again = copied(Message.of("100%% of %(n)d", n=3))
    assert (again, again.parts) == ("100% of 3", (("100%% of %(n)d", {"n": 3}),))


def test_an_error_has_the_message_that_it_was_raised_with():
    with pytest.raises(TooLarge, match=f"limit is {MAX_MATRIX_ITEMS} items") as failure:
        check_dense(MAX_MATRIX_ITEMS + 1)
    assert message_of(failure.value).parts[0][1]["n"] == MAX_MATRIX_ITEMS + 1
    assert message_of(ValueError("a", 3)) == "('a', 3)"
    assert message_of(ValueError()) == ""
