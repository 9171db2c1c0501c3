"""Signing in through institutions' OpenID Connect services, by allauth, with every check of its tokens."""

import hashlib
import secrets
from typing import Any

from allauth.account.models import EmailAddress
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialApp, SocialLogin, SocialToken
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.openid_connect.provider import OpenIDConnectProvider
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _

from annotate.accounts.id_tokens import TokenRefused, fetch_json, verify_token
from annotate.accounts.invitations import accept_invitations, open_invitations
from annotate.models import ApiToken, User

NONCE_KEY = "{}_nonce"  # in the session, for each service its own


def service_of(provider: str) -> dict[str, Any]:
    """Return what the settings say of a service. Raises SocialApp.DoesNotExist where they do not name it."""
    try:
        found: dict[str, Any] = settings.OIDC[provider]
    except KeyError:
        raise SocialApp.DoesNotExist from None
    return found


class ServiceAdapter(OpenIDConnectOAuth2Adapter):
    """Reads the service's description and its answers."""

    @property
    def openid_config(self) -> dict[str, Any]:
        if not hasattr(self, "_openid_config"):
            try:
                found = fetch_json(self.get_provider().server_url)
            except TokenRefused as error:
                raise OAuth2Error(str(error)) from error
            names = ("authorization_endpoint", "token_endpoint", "jwks_uri")
            if found.get("issuer") != service_of(self.provider_id)["issuer"] or not all(
                isinstance(found.get(n), str) for n in names
            ):
                raise OAuth2Error("The description is of another issuer or incomplete.")
            self._openid_config = found
        return self._openid_config

    def complete_login(self, request: HttpRequest, app: SocialApp, token: SocialToken, **kwargs: Any) -> SocialLogin:
        """Return who signed in. Only the signed token says who; the service's further answer adds an address."""
        nonce = request.session.pop(NONCE_KEY.format(self.provider_id), "")
        try:
            claims = verify_token(
                str(kwargs["response"].get("id_token", "")),
                keys_url=self.openid_config["jwks_uri"],
                issuer=service_of(self.provider_id)["issuer"],
                audience=app.client_id,
                nonce=nonce,
            )
        except TokenRefused as error:
            raise OAuth2Error(str(error)) from error
        if "email" not in claims and "userinfo_endpoint" in self.openid_config:
            more = self._fetch_user_info(token.token)
            if more.get("sub") != claims["sub"]:
                raise OAuth2Error("The service's answer is about somebody else.")
            claims = more | claims
        return self.get_provider().sociallogin_from_response(request, claims)


class ServiceProvider(OpenIDConnectProvider):
    """One of the services that the settings name."""

    oauth2_adapter_class = ServiceAdapter
    pkce_enabled_default = True

    @property
    def issuer(self) -> str:
        return str(service_of(self.app.provider_id)["issuer"])

    def get_auth_params_from_request(self, request: HttpRequest, action: str) -> dict[str, str]:
        """Return a fresh nonce; nothing is taken over from the address."""
        nonce = request.session[NONCE_KEY.format(self.app.provider_id)] = secrets.token_urlsafe(24)
        return {"nonce": nonce}

    def get_scope_from_request(self, request: HttpRequest) -> list[str]:
        return ["openid", "email"]

    def extract_uid(self, data: dict[str, Any]) -> str:
        """Return one name for issuer and subject, so that another issuer's subjects are never taken for these."""
        return hashlib.sha256(f"{self.issuer}\0{data['sub']}".encode()).hexdigest()

    def extract_extra_data(self, data: dict[str, Any]) -> dict[str, str]:
        return {"issuer": self.issuer, "sub": str(data["sub"])}

    def extract_common_fields(self, data: dict[str, Any]) -> dict[str, Any]:
        return {"email": data.get("email")}

    def extract_email_addresses(self, data: dict[str, Any]) -> list[EmailAddress]:
        """Return the address only where the issuer says that it is verified."""
        if data.get("email") and data.get("email_verified") in (True, "true"):
            return [EmailAddress(email=str(data["email"]).lower(), verified=True, primary=True)]
        return []


class SocialAdapter(DefaultSocialAccountAdapter):
    def get_provider(self, request: HttpRequest, provider: str, client_id: str | None = None) -> ServiceProvider:
        """Return a service of the settings. Raises SocialApp.DoesNotExist where they do not name it."""
        service = service_of(provider)
        app = SocialApp(
            provider="openid_connect",
            provider_id=provider,
            name=service["name"],
            client_id=service["client_id"],
            secret=service["client_secret"],
            settings={"server_url": service["issuer"].rstrip("/")},
        )
        return ServiceProvider(request, app=app)

    def can_authenticate_by_email(self, login: SocialLogin, email: str) -> bool:
        """Tell whether the account with an address that the service says is verified is this person's.

        Else whoever made the account with somebody else's address, unverified, would share it with its owner.
        """
        return service_of(login.account.provider)["trusted"] or is_verified_here(email)

    def pre_social_login(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        """Refuse who is new and has no verified address, or one of an account that may be somebody else's."""
        address = verified_address(sociallogin)
        if sociallogin.is_existing and service_of(sociallogin.account.provider)["trusted"]:
            confirm_address(sociallogin.user, address)
        if not sociallogin.is_existing and address and has_account(address):
            text = _(
                "There is an account with your address %(address)s, but the address was never confirmed here. Sign in "
                "with its password and confirm the address, then try again; or ask the operator of this site."
            )
            raise ImmediateHttpResponse(refusal_page(request, text % {"address": address}, 403))
        if not sociallogin.is_existing and not verified_address(sociallogin):
            text = _("%(name)s does not say that your e-mail address is verified. Verify it there and try again.")
            raise ImmediateHttpResponse(
                refusal_page(request, text % {"name": service_of(sociallogin.account.provider)["name"]}, 403)
            )

    def is_open_for_signup(self, request: HttpRequest, sociallogin: SocialLogin) -> bool:
        address = verified_address(sociallogin)
        domains = settings.OIDC.get(sociallogin.account.provider, {}).get("email_domains", ())
        allowed = address.rpartition("@")[2] in domains
        return settings.SIGNUP_OPEN or allowed or open_invitations(address, timezone.now()).exists()

    def save_user(self, request: HttpRequest, sociallogin: SocialLogin, form: object = None) -> User:
        user: User = super().save_user(request, sociallogin, form)
        accept_invitations(user=user, address=verified_address(sociallogin), now=timezone.now())
        return user


def confirm_address(user: User, address: str) -> None:
    """Take the address as the user's, as the trusted service says; if it was unconfirmed here, lock out everybody who
    came into the account otherwise."""
    if EmailAddress.objects.filter(user=user, email__iexact=address, verified=False).update(verified=True):
        user.set_unusable_password()  # with it, all sessions end
        user.save(update_fields=["password"])
        ApiToken.objects.filter(user=user).delete()


def is_verified_here(address: str) -> bool:
    return EmailAddress.objects.filter(email__iexact=address, verified=True).exists()


def has_account(address: str) -> bool:
    known = EmailAddress.objects.filter(email__iexact=address)
    return known.exists() or User.objects.filter(email__iexact=address).exists()


def verified_address(sociallogin: SocialLogin) -> str:
    """Return the address that the issuer says is verified; "" where there is none."""
    return next((str(one.email) for one in sociallogin.email_addresses if one.verified), "")


def refusal_page(request: HttpRequest, text: str, status: int) -> HttpResponse:
    return render(request, "socialaccount/authentication_error.html", {"text": text}, status=status)
