"""Reading plain text: one item per line."""

from django.utils.translation import gettext as _

from annotate.files.sheets import Sheet, SheetRow


def read(text: str) -> Sheet:
    lines = enumerate(text.splitlines(), 1)
    return Sheet([_("text")], (SheetRow(number, [line.strip()]) for number, line in lines if line.strip()))
