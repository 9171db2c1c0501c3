"""Erases a person on their request: `manage.py erase --account ann@example.org`, or one annotator of a project."""

from argparse import ArgumentParser
from typing import Any
from uuid import UUID

from django.core.checks import Tags
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from annotate.core.errors import UserError
from annotate.models import Annotator, User
from annotate.privacy.erasure.accounts import erase_account
from annotate.privacy.erasure.actions import BY_OPERATOR, erase_annotator


class Command(BaseCommand):
    help = "Deletes everything of a person: labels, what was computed from them, names, sessions. There is no undo."
    requires_system_checks = (Tags.models,)  # no page is shown: checking addresses would import every one

    def add_arguments(self, parser: ArgumentParser) -> None:
        who = parser.add_mutually_exclusive_group(required=True)
        who.add_argument("--account", metavar="ADDRESS", help="e-mail address of an account")
        who.add_argument("--annotator", metavar="KEY", type=UUID, help="key of an annotator, as in the API")
        parser.add_argument("--yes", action="store_true", help="do not ask")

    def handle(self, *, account: str | None, annotator: UUID | None, yes: bool, **options: Any) -> None:
        now = timezone.now()
        if account:
            users = list(User.objects.filter(email__iexact=account))
            if len(users) != 1:
                raise CommandError(f"There is no account with the address {account}; see /admin/ for those there are.")
            self.agreed(f"the account {users[0].email}", yes)
            try:
                n = erase_account(user=users[0], by=BY_OPERATOR, now=now)
            except UserError as refusal:
                raise CommandError(str(refusal)) from refusal
        elif annotator:
            person = Annotator.objects.select_related("project").filter(key=annotator).first()
            if person is None:
                raise CommandError(
                    f"There is no annotator with the key {annotator}; the API lists the annotators of a project."
                )
            self.agreed(f"{person.pseudonym} in the project {person.project.name}", yes)
            n = erase_annotator(annotator=person, by=BY_OPERATOR, now=now)
        self.stdout.write(f"Erased, with {n} label{'' if n == 1 else 's'}. Earlier backups still contain them.")

    def agreed(self, who: str, yes: bool) -> None:
        if not yes and input(f"Erase {who} for good? Type yes: ").strip() != "yes":
            raise CommandError("Nothing was erased.")
