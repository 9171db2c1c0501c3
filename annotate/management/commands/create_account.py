"""Makes an account, as sign-up is closed unless the operator opens it: `manage.py create_account ann@example.org`."""

import getpass
import os
from argparse import ArgumentParser
from typing import Any

from allauth.account.models import EmailAddress
from django.contrib.auth.password_validation import validate_password
from django.core.checks import Tags
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError
from django.core.validators import validate_email
from django.db import transaction

from annotate.models import User


class Command(BaseCommand):
    help = "Makes an account that signs in with its e-mail address; asks for the password, or reads it from PASSWORD."
    requires_system_checks = (Tags.models,)  # no page is shown: checking addresses would import every one

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("address", help="the e-mail address")
        parser.add_argument("--operator", action="store_true", help="may also use the Django admin, with every right")

    def handle(self, *, address: str, operator: bool, **options: Any) -> None:
        address = address.strip().lower()
        self.check_address(address)
        password = os.environ.get("PASSWORD") or getpass.getpass("Password: ")
        user = User(username=address[:150], email=address, is_staff=operator, is_superuser=operator)
        try:
            validate_password(password, user)
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from error
        user.set_password(password)
        with transaction.atomic():
            user.save()
            # Whoever runs this command vouches for the address: no message has to be confirmed first.
            EmailAddress.objects.create(user=user, email=address, primary=True, verified=True)
        self.stdout.write(f"{address} can sign in now{', also at /admin/' if operator else ''}.")

    def check_address(self, address: str) -> None:
        try:
            validate_email(address)
        except ValidationError as error:
            raise CommandError(f"“{address}” is not an e-mail address.") from error
        if User.objects.filter(email__iexact=address).exists() or EmailAddress.objects.filter(email=address).exists():
            raise CommandError(f"There is an account for {address} already. Its owner can ask for a new password.")
