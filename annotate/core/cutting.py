"""Cuts long texts to one short line."""

ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"
KEPT = 0.6  # of the room: where a word ends only before that, as in a text without spaces, the cut may be inside it
LEFT_OPEN = " ,;:-\N{EN DASH}\N{EM DASH}(“„«"  # what no cut text ends with


def cut_at_word(text: str, limit: int) -> str:
    """Return the text; one of more than `limit` characters up to the end of a word, with an ellipsis for the rest."""
    if len(text) <= limit:
        return text
    start = text[: limit - 1]
    words = start if text[limit - 1].isspace() else start.rpartition(" ")[0]
    kept = words if len(words) >= KEPT * limit else start
    return kept.rstrip(LEFT_OPEN) + ELLIPSIS
