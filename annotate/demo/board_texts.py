"""Twenty prompts with a right answer, a reason and a slip, and how five made-up models would put them."""

from typing import NamedTuple


class Prompt(NamedTuple):
    subject: str
    text: str
    answer: str
    reason: str
    slip: str


# What the simulated crowd thinks of each, in logits, before length and layout count.
MODELS = {"Aspen": 1.3, "Birch": 0.7, "Cedar": 0.2, "Dogwood": -0.5, "Elder": -1.7}
PROMPTS = [
    Prompt(
        "Household",
        "How do I get candle wax off a wooden table?",
        "Let it harden, then lift it off with a plastic card.",
        "Cold wax comes off in flakes, and plastic does not scratch the wood.",
        "Pour boiling water over it and scrub.",
    ),
    Prompt(
        "Household",
        "My bread goes stale after a day. What can I do?",
        "Freeze it in slices and toast what you need.",
        "Starch hardens fastest at the temperature of a fridge and hardly at all when frozen.",
        "Keep it in the fridge.",
    ),
    Prompt(
        "Household",
        "How often should I water a cactus in winter?",
        "About once a month, only when the soil is dry.",
        "It rests in winter, and wet soil lets the roots rot.",
        "A little every morning.",
    ),
    Prompt(
        "Household",
        "What is the best way to hang a heavy mirror?",
        "Use two screws in wall plugs that suit the wall.",
        "Two points share the weight and keep it level.",
        "One strong nail will do.",
    ),
    Prompt(
        "Household",
        "How do I stop a door from squeaking?",
        "Put a drop of oil on each hinge pin and move the door to and fro.",
        "The noise is dry metal rubbing, and moving the door spreads the oil.",
        "Sand the edge of the door.",
    ),
    Prompt(
        "Numbers",
        "A jacket of 80 euros is 25% off. What does it cost?",
        "60 euros.",
        "A quarter of 80 is 20, and 80 − 20 = 60.",
        "55 euros.",
    ),
    Prompt(
        "Numbers",
        "How many minutes are there in a week?",
        "10,080.",
        "7 days × 24 hours × 60 minutes.",
        "8,640.",
    ),
    Prompt(
        "Numbers",
        "Three friends share a bill of 47.10 euros equally. How much does each pay?",
        "15.70 euros.",
        "47.10 ÷ 3 = 15.70.",
        "About 16.50 euros.",
    ),
    Prompt(
        "Numbers",
        "What is the chance of two sixes with two dice?",
        "1 in 36.",
        "Each die shows a six once in 6 throws, and 6 × 6 = 36.",
        "1 in 12.",
    ),
    Prompt(
        "Numbers",
        "A train leaves at 9:40 and arrives at 12:15. How long does it take?",
        "2 hours and 35 minutes.",
        "From 9:40 to 11:40 are 2 hours, and 35 minutes remain.",
        "3 hours and 25 minutes.",
    ),
    Prompt(
        "Nature",
        "Why do leaves turn yellow in autumn?",
        "The tree takes back the green, and the yellow that was below it shows.",
        "Chlorophyll is broken down and its parts are stored for spring; the yellow pigments stay.",
        "The frost paints them.",
    ),
    Prompt(
        "Nature",
        "Do bats see anything at all?",
        "Yes, all of them see, and some see well.",
        "Many also find their way by echoes, which works in the dark.",
        "No, bats are blind.",
    ),
    Prompt(
        "Nature",
        "Why is the sea salty?",
        "Rivers carry dissolved salts into it, and only water evaporates.",
        "What has no way out gathers over a long time.",
        "Because of the fish.",
    ),
    Prompt(
        "Nature",
        "How can I tell how old a felled tree is?",
        "Count the rings on the stump.",
        "Where winters are cold, a tree adds one light and one dark layer a year.",
        "Measure its height and halve it.",
    ),
    Prompt(
        "Nature",
        "Why do we see lightning before we hear thunder?",
        "Light is far faster than sound.",
        "Sound needs about three seconds for a kilometre; light is there at once.",
        "The thunder starts later.",
    ),
    Prompt(
        "Writing",
        "Give me a one-line apology for being late with a report.",
        "“I'm sorry the report is late; you will have it by noon tomorrow.”",
        "It names what went wrong and says when it will be put right.",
        "“Things happen.”",
    ),
    Prompt(
        "Writing",
        "Find a short name for a café by a canal.",
        "“The Lock”.",
        "It is one word, it belongs to a canal, and it is easy to say.",
        "“The Canal-Side Coffee and Cake Establishment”.",
    ),
    Prompt(
        "Writing",
        "Make this friendlier: “You forgot to sign the form.”",
        "“The form still needs your signature. Could you add it?”",
        "It says what is missing without blaming anybody.",
        "“You forgot to sign the form!!!”",
    ),
    Prompt(
        "Writing",
        "How do I begin a letter to somebody whose name I don't know?",
        "Write “Hello” and the name of their team.",
        "It is polite, and nobody is addressed wrongly.",
        "Begin with “Hey you”.",
    ),
    Prompt(
        "Writing",
        "Say in five words why a library matters.",
        "Books for everyone, for free.",
        "It says what is there, for whom, and what it costs.",
        "Libraries are really very important buildings.",
    ),
]


def answer_of(model: str, prompt: Prompt) -> str:
    """Return what the model says: short, explained, laid out as a list, hesitant, or wrong."""
    return {
        "Aspen": f"{prompt.answer} {prompt.reason}",
        "Birch": prompt.answer,
        "Cedar": f"**In short**\n\n- {prompt.answer}\n- {prompt.reason}\n- Ask again if you need more, step by step.",
        "Dogwood": f"Good question! It depends on a number of things, but in most cases: {prompt.answer}",
        "Elder": prompt.slip,
    }[model]


def board_likes() -> dict[str, float]:
    """Return what all of the simulated crowd agree on, in logits, by item key; they also like length and lists."""
    return {
        f"{model.lower()}-{n:02d}": worth
        + 0.004 * len(answer_of(model, prompt))
        + (0.6 if model == "Birch" and prompt.subject == "Numbers" else 0)
        for n, prompt in enumerate(PROMPTS, start=1)
        for model, worth in MODELS.items()
    }
