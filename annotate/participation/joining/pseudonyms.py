"""Readable pseudonyms such as “Quiet Otter”: suggested, unique in a project, and what one may call oneself."""

import random
import re
import unicodedata

from annotate.models import Annotator, ExpectedPerson, Project

MAX_PSEUDONYM_LENGTH = 40
N_SUGGESTIONS = 12
JOINERS = "\u200c\u200d"  # some scripts and emoji are not written without them

ADJECTIVES = """
able agile airy alert amber ample avid azure bold brave breezy bright brisk calm candid cheery chilly civil clear
clever cosy crisp curious dapper daring deft dusky eager early earnest easy elegant fair famous fancy fearless
festive fleet floral fond frank free fresh frosty gentle giddy glad gleeful golden grand handy happy hardy hazel
hearty honest humble ivory jaunty jolly jovial joyful keen kind lively loyal lucid lucky lunar mellow merry mild
misty modest neat nimble noble olive patient peaceful pearly placid playful plucky polite prompt proud quick quiet
radiant rapid rosy ruby rustic sandy serene shiny silent silver sincere sleepy sleek snowy snug solar spry stately
steady sturdy subtle sunny tender thrifty tidy timely tranquil trusty upbeat velvet vivid warm wavy whimsical
willing windy wise witty woolly zesty
""".split()

ANIMALS = """
albatross alpaca antelope armadillo auk avocet axolotl badger bear beaver bee beetle bison bobcat bunting butterfly
camel capybara caribou cat chamois cheetah chinchilla chipmunk cicada condor coot cormorant crane cricket curlew deer
dingo dipper dolphin dormouse dove dragonfly duck dunlin eagle egret eider elk emu ermine falcon fawn ferret finch
firefly flamingo fox gannet gazelle gecko gibbon giraffe goldfinch goose grebe grouse gull hamster hare hawk hedgehog
heron hoopoe ibex ibis iguana impala jackdaw jaguar jay kestrel kingfisher kite kiwi koala ladybird lapwing lark
lemur leopard linnet lion lizard llama lobster loon lynx magpie manatee marmot marten meerkat mole moose moth mouse
narwhal newt nightingale nuthatch ocelot octopus okapi oriole osprey otter owl oyster panda pangolin panther parrot
partridge peacock pelican penguin petrel pheasant pika pipit platypus plover pony porcupine puffin quail quetzal
quokka rabbit raccoon raven redstart reindeer robin sandpiper seahorse seal serval shrew siskin skylark snail sparrow
squirrel starfish starling stoat stork swallow swan swift tapir teal tern thrush tiger toad toucan trout turtle
vicuna viper vole wagtail walrus warbler waxwing weasel whale wombat woodpecker wren yak zebra
""".split()


def suggest(project: Project, rng: random.Random) -> str:
    """Return a pseudonym that nobody in the project has; with a number behind it once the plain ones run out."""
    names = [f"{rng.choice(ADJECTIVES)} {rng.choice(ANIMALS)}".title() for _ in range(N_SUGGESTIONS)]
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
