"""Readable pseudonyms such as “Quiet Otter”: suggested, unique in a project, and what one may call oneself."""

import random
import re
import unicodedata

from django.utils.translation import get_language

from annotate.core.languages import site_language
from annotate.models import Annotator, ExpectedPerson, Project
from annotate.participation.joining.pseudonym_words import ENGLISH, WORDS

MAX_PSEUDONYM_LENGTH = 40
N_SUGGESTIONS = 12
JOINERS = "\u200c\u200d"  # some scripts and emoji are not written without them


def suggest(project: Project, rng: random.Random) -> str:
    """Return a pseudonym that nobody in the project has, in the language of the page; with a number behind it once the
    plain ones run out."""
    words = WORDS.get(site_language(get_language() or ""), ENGLISH)
    names = [words.pair(rng.choice(words.adjectives), rng.choice(words.animals)) for _ in range(N_SUGGESTIONS)]
    names += [f"{names[0]} {rng.randrange(10, 1_000_000)}" for _ in range(N_SUGGESTIONS)]
    taken = set(Annotator.everyone.filter(project=project, pseudonym__in=names).values_list("pseudonym", flat=True))
    return next((name for name in names if name not in taken), names[-1])


def normalize_name(name: str) -> str:
    """Return the name in one line, without invisible characters that make two names look alike or turn the
    text around."""
    visible = "".join(c for c in name if c in JOINERS or c.isspace() or unicodedata.category(c) not in ("Cc", "Cf"))
    return re.sub(r"\s+", " ", unicodedata.normalize("NFC", visible)).strip()


def is_taken(project: Project, name: str) -> bool:
    """Return whether an annotator has the name, or somebody on the roster who is yet to join by their own link."""
    expected = ExpectedPerson.objects.filter(project=project, annotator=None, name__iexact=name)
    return Annotator.everyone.filter(project=project, pseudonym__iexact=name).exists() or expected.exists()
