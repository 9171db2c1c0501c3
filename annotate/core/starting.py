"""Starts manage.py's commands without looking for garbage among what is imported, which stays to the end."""

import gc
from collections.abc import Sequence

from django.core.management import BaseCommand, ManagementUtility


class Commands(ManagementUtility):
    """Imports a command, then keeps what is there out of every later look for garbage, the one at the end too."""

    def fetch_command(self, subcommand: str) -> BaseCommand:
        command = super().fetch_command(subcommand)
        gc.freeze()
        gc.enable()
        return command


def run_command(argv: Sequence[str]) -> None:
    """Run the command of manage.py that the arguments name, the first of which is the program's name."""
    gc.disable()  # a look for garbage goes through all that was imported before
    Commands(list(argv)).execute()
