"""Says where the site's own files are and where its data go, in a checkout and in an installed wheel."""

from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
# pyproject.toml puts templates/ and static/ into this folder of the wheel; a checkout has none.
BUNDLED = PACKAGE / "bundled"
INSTALLED = BUNDLED.is_dir()
# Holds templates/ and static/.
FILES = BUNDLED if INSTALLED else PACKAGE.parent
# Holds what the help pages show.
DOCS = FILES / "docs"
# Holds the database, media, collected static files and the demo, unless settings say otherwise: the checkout, or the
# folder in which the command was given.
DATA = Path.cwd() if INSTALLED else PACKAGE.parent
# How a command is given, for messages.
COMMAND = "crowdrank" if INSTALLED else "manage.py"
