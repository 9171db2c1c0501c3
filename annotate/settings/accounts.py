"""Signing in: accounts, passwords, institutions' services, and failed attempts."""

from annotate.core.environment import check_names, parse_service
from annotate.settings.base import DEBUG, TESTING, env

AUTH_USER_MODEL = "annotate.User"
AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "allauth.account.auth_backends.AuthenticationBackend",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
ACCOUNT_ADAPTER = "annotate.accounts.adapter.AccountAdapter"
ACCOUNT_FORMS = {"login": "annotate.accounts.sign_in_form.SignInForm"}
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*", "password2*"]
ACCOUNT_EMAIL_VERIFICATION = env.str("ACCOUNT_EMAIL_VERIFICATION", default="none" if DEBUG or TESTING else "mandatory")
ACCOUNT_EMAIL_SUBJECT_PREFIX = ""
ACCOUNT_LOGOUT_ON_GET = False
# Closed unless said otherwise: a stranger who finds the address gets no account.
SIGNUP_OPEN = env.switch("SIGNUP_OPEN", default=False)
# Signing in through institutions' OpenID Connect services; new accounts for each one's domains of e-mail addresses
# alone, beside those invited. Empty: none is offered. Further services are OIDC_1_ISSUER, OIDC_2_ISSUER and so on.
OIDC_UNNUMBERED = parse_service(
    env.str("OIDC_ISSUER", default=""),
    name=env.str("OIDC_NAME", default=""),
    client_id=env.str("OIDC_CLIENT_ID", default=""),
    client_secret=env.str("OIDC_CLIENT_SECRET", default=""),
    email_domains=env.list("OIDC_EMAIL_DOMAINS", default=[]),
    # Whether a verified address there signs in to an account whose address nobody has verified here.
    trusted=env.switch("OIDC_TRUSTED", default=False),
    allow_http=DEBUG,
)
OIDC = check_names(({"oidc": OIDC_UNNUMBERED} if OIDC_UNNUMBERED else {}) | env.numbered_services(allow_http=DEBUG))
SOCIALACCOUNT_ADAPTER = "annotate.accounts.oidc.SocialAdapter"
# A link, since a form's redirect to the service would need its address in the page's policy.
SOCIALACCOUNT_LOGIN_ON_GET = True
SOCIALACCOUNT_EMAIL_AUTHENTICATION_AUTO_CONNECT = True
LOGIN_REDIRECT_URL = "home"
LOGIN_URL = "account_login"
# Of failed sign-ins axes takes care, by name and address together: allauth would lock an account for everybody after
# five failures of anybody who knows its name, and an address for everybody who shares it, as a school does.
ACCOUNT_RATE_LIMITS = {"login_failed": None, "reset_password": "100/m/ip,5/m/key"}
ACCOUNT_RATE_LIMITS |= dict.fromkeys(("login", "signup", "reset_password_from_key"), "100/m/ip")
AXES_FAILURE_LIMIT = 10
AXES_COOLOFF_TIME = 0.25
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_USERNAME_CALLABLE = "annotate.accounts.adapter.sign_in_name"
AXES_RESET_ON_SUCCESS = True
AXES_LOCKOUT_TEMPLATE = "account/locked.html"
AXES_CLIENT_IP_CALLABLE = "annotate.core.rate_limits.client_address"
