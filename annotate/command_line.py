"""Runs the command `crowdrank`: the client's command line under `client`, its machines also without that word, else
manage.py's commands."""

import os
import sys
from importlib.util import find_spec

from annotate.client.__main__ import main as run_client

# Some of what crowdrank[site] brings: without it there is the engine and the client alone.
NEEDED = ("allauth", "channels", "csp", "django", "environ", "rest_framework", "uvicorn")
SITE_INSTALLED = all(find_spec(name) for name in NEEDED)
OF_CLIENT = ("judge", "machines")
NOT_INSTALLED = (
    "This command needs the site, which is not installed: install the wheel with [site], as in pip install '.[site]' "
    "(without it there are `crowdrank client` and `python -m models_engine`)."
)

if SITE_INSTALLED:
    from django.core.exceptions import ImproperlyConfigured

    from annotate.core import starting
    from annotate.demo.environment import set_environment


def main() -> int:
    """Run the command in sys.argv; the exit code."""
    if sys.argv[1:2] == ["client"]:
        return run_client(sys.argv[2:], program="crowdrank client")
    if sys.argv[1:2] and sys.argv[1] in OF_CLIENT:
        return run_client(sys.argv[1:], program="crowdrank")
    if not SITE_INSTALLED:
        print(NOT_INSTALLED, file=sys.stderr)
        return 1
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "annotate.settings")
    if sys.argv[1:2] == ["demo"]:
        set_environment()
    return run_command()


def run_command() -> int:
    """Run manage.py's command; a setting that can't be used ends it in one sentence."""
    try:
        starting.run_command(sys.argv)
    except ImproperlyConfigured as error:
        if "--traceback" in sys.argv:
            raise
        print(f"A setting is wrong. {error}", file=sys.stderr)
        return 1
    return 0
