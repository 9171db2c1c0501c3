"""Reading settings from the environment: a value that can't be read stops the start, and the message names it."""

import re
import warnings
from typing import Any
from uuid import UUID

import environ
from django.core.exceptions import ImproperlyConfigured

YES, NO = ("true", "yes", "on", "1", "y", "t", "ok"), ("false", "no", "off", "0", "n", "f")
DATABASES = ("postgres", "postgresql", "pgsql", "psql", "sqlite")
# New name: old name. The old one is read, with a warning, until version 0.3.
RENAMED = {
    "ALLOWED_RETURN_HOSTS": "RETURN_HOSTS",
    "MAX_CONCURRENT_ANSWERS": "ANSWERS_AT_ONCE",
    "RETENTION_SCOPE": "RETENTION_DROPS",
    "SIGN_IN_LOG_DAYS": "SIGN_IN_DAYS",
    "WEBHOOKS_ALLOW_HTTP": "WEBHOOKS_WITHOUT_TLS",
    "WEBHOOKS_ALLOW_PRIVATE": "WEBHOOKS_TO_PRIVATE_ADDRESSES",
    "WORKER_LEASE_SECONDS": "ENGINE_LEASE_SECONDS",
    "RATE_LIMIT_ANSWER": "LIMIT_ANSWER",
    "RATE_LIMIT_API": "LIMIT_API",
    "RATE_LIMIT_CODE": "LIMIT_CODE",
    "RATE_LIMIT_EXPORT": "LIMIT_EXPORT",
    "RATE_LIMIT_IMPORT": "LIMIT_IMPORT",
    "RATE_LIMIT_INVITE": "LIMIT_INVITE",
    "RATE_LIMIT_INVITE_ANNOTATORS": "LIMIT_INVITE_ANNOTATORS",
    "RATE_LIMIT_JOIN": "LIMIT_JOIN",
    "RATE_LIMIT_PASSWORD": "LIMIT_PASSWORD",
    "RATE_LIMIT_RESULTS": "LIMIT_RESULTS",
    "RATE_LIMIT_RESULTS_MEDIA": "LIMIT_RESULTS_MEDIA",
}
MIN_SECRET_LENGTH = 20
NUMBERED = re.compile(r"OIDC_([1-9]\d?)_(ISSUER|NAME|CLIENT_ID|CLIENT_SECRET|EMAIL_DOMAINS|TRUSTED)")
RATE = re.compile(r"\d+/(s|sec|second|m|min|minute|h|hour|d|day)s?")


class Environment(environ.Env):
    """django-environ's, but stricter: there a slip in HTTPS reads as false, and a number's names no variable."""

    def get_value(self, var: str, *args: Any, **kwargs: Any) -> Any:
        """Read the variable, or the one of its old name where only that is set."""
        old = RENAMED.get(var)
        if old and self.ENVIRON.get(old) and not self.ENVIRON.get(var):
            warnings.warn(f"{old} is called {var} now; rename it before version 0.3.", FutureWarning, stacklevel=2)
            var = old
        return super().get_value(var, *args, **kwargs)

    def switch(self, var: str, default: bool) -> bool:
        text: str = self.str(var, default="").strip().lower()
        if text in YES or text in NO:
            return text in YES
        if text:
            raise ImproperlyConfigured(f"{var} is “{text}”: write true or false.")
        return default

    def number(self, var: str, default: int) -> int:
        text: str = self.str(var, default="").strip()
        if text and not text.isdecimal():
            raise ImproperlyConfigured(f"{var} is “{text}”: write a whole number, 0 or more.")
        return int(text) if text else default

    def rate(self, var: str, default: str) -> str:
        """Read a rate of requests, as in 60/min."""
        text: str = self.str(var, default="").strip() or default
        if RATE.fullmatch(text):
            return text
        raise ImproperlyConfigured(f"{var} is “{text}”: write a number per second, min, hour or day, as in 60/min.")

    def database(self, var: str, default: str) -> dict[str, Any]:
        """Read the database's address; errors do not repeat the value, which may hold a password."""
        text: str = self.str(var, default="") or default
        # Looked at first: of a kind that it doesn't know, django-environ prints the password in a warning.
        known = text.partition("://")[0] in DATABASES
        found: dict[str, Any] = self.db_url_config(text) if known else {}
        if not found.get("NAME"):
            raise ImproperlyConfigured(
                f"{var} names no database. Write postgres://user:password@host/name or sqlite:////path/to/file, "
                "with special characters of the password encoded as in a URL (# is %23)."
            )
        return found

    def redis(self, var: str) -> str:
        text: str = self.str(var, default="")
        if text and not text.startswith(("redis://", "rediss://", "unix://")):
            raise ImproperlyConfigured(f"{var} names no Redis. Write redis://host:6379/0, or leave it empty.")
        return text

    def cluster(self, var: str) -> str:
        text: str = self.str(var, default="").strip()
        if text and not text.startswith(("tcp://", "tls://")):
            raise ImproperlyConfigured(f"{var} names no cluster. Write tls://host:8786, or leave it empty.")
        return text

    def secret(self, var: str) -> str:
        """Read a token that must not be guessed; empty where nothing is set."""
        text: str = self.str(var, default="").strip()
        if text and len(text) < MIN_SECRET_LENGTH:
            raise ImproperlyConfigured(f"{var} is too short: write {MIN_SECRET_LENGTH} random characters or more.")
        return text

    def identifier(self, var: str) -> UUID | None:
        """Read the id of a project, as its address on the dashboard has it; None where nothing is set."""
        text: str = self.str(var, default="").strip()
        try:
            return UUID(text) if text else None
        except ValueError as error:
            raise ImproperlyConfigured(
                f"{var} is “{text}”: write the id of a project, as it stands in the address of its dashboard."
            ) from error

    def hosts(self, var: str) -> list[str]:
        """Read names of hosts alone: with a scheme or a path none would ever be answered."""
        names: list[str] = [name.strip() for name in self.list(var, default=[]) if name.strip()]
        for name in names:
            if "/" in name:
                raise ImproperlyConfigured(f"{var} holds “{name}”: write the name alone, as in rank.example.org.")
        return names

    def mail(self, var: str, default: str) -> dict[str, Any]:
        try:
            found: dict[str, Any] = self.email_url_config(self.str(var, default="") or default)
        except ImproperlyConfigured as error:
            raise ImproperlyConfigured(
                f"{var} names no mail server ({error}). Write smtp+tls://user:password@host:587, smtp+ssl:// or smtp://."
            ) from error
        return found

    def numbered_services(self, *, allow_http: bool) -> dict[str, dict[str, Any]]:
        """Read the OpenID Connect services OIDC_1_ISSUER, OIDC_2_ISSUER and so on, each with the other five names."""
        numbers = {int(found[1]) for name in self.ENVIRON if self.ENVIRON[name] and (found := NUMBERED.fullmatch(name))}
        services = {}
        for number in sorted(numbers):
            prefix = f"OIDC_{number}"
            if not self.str(f"{prefix}_ISSUER", default="").strip():
                raise ImproperlyConfigured(f"{prefix}_ISSUER is not set, but other variables of the service are.")
            services[f"oidc-{number}"] = parse_service(
                self.str(f"{prefix}_ISSUER"),
                name=self.str(f"{prefix}_NAME", default=""),
                client_id=self.str(f"{prefix}_CLIENT_ID", default=""),
                client_secret=self.str(f"{prefix}_CLIENT_SECRET", default=""),
                email_domains=self.list(f"{prefix}_EMAIL_DOMAINS", default=[]),
                allow_http=allow_http,
                trusted=self.switch(f"{prefix}_TRUSTED", default=False),
                prefix=prefix,
            )
        return services


def check_names(services: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the services; people choose among their buttons, so that two must not have the same name."""
    names = [one["name"] for one in services.values()]
    for name in names:
        if names.count(name) > 1:
            raise ImproperlyConfigured(
                f"Two OpenID Connect services are called “{name}”: set OIDC_NAME, OIDC_1_NAME ..."
            )
    return services


def parse_service(
    issuer: str,
    *,
    name: str,
    client_id: str,
    client_secret: str,
    email_domains: list[str],
    allow_http: bool,
    trusted: bool = False,
    prefix: str = "OIDC",
) -> dict[str, Any]:
    """Check an OpenID Connect service; {} where no issuer is set. Plain http is for one's own machine."""
    issuer = issuer.strip()
    if not issuer:
        return {}
    if not issuer.startswith(("https://", "http://") if allow_http else "https://"):
        raise ImproperlyConfigured(f"{prefix}_ISSUER is “{issuer}”: write the issuer's address, with https://.")
    for variable, value in ((f"{prefix}_CLIENT_ID", client_id), (f"{prefix}_CLIENT_SECRET", client_secret)):
        if not value:
            raise ImproperlyConfigured(f"{prefix}_ISSUER is set, but {variable} is not. The service gives both out.")
    domains = frozenset(one.strip().lower().lstrip("@") for one in email_domains if one.strip())
    service = {"issuer": issuer, "name": name or "SSO", "client_id": client_id, "client_secret": client_secret}
    return {**service, "email_domains": domains, "trusted": trusted}
