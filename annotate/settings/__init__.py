"""Every setting, read from the environment; unsafe values need DEBUG=true and missing secrets stop the start.

Those of accounts, of the API and of the database have files of their own.
"""

import secrets

from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured

from annotate.core.folders import DATA, FILES, PACKAGE
from annotate.core.logging_setup import logging_config
from annotate.core.storage import parse_storage_url
from annotate.settings.accounts import *
from annotate.settings.api import *
from annotate.settings.base import DEBUG, TESTING, VERSION, env
from annotate.settings.database import *

# Where data go and processes start: the checkout, or with an installed wheel the current folder.
BASE_DIR = DATA

# --- Safety -----------------------------------------------------------------------------------------------------------
SECRET_KEY = env.str("SECRET_KEY", default="")
if not SECRET_KEY:
    if not (DEBUG or TESTING):
        raise ImproperlyConfigured(
            "SECRET_KEY is not set. Put 50 random characters in the environment variable SECRET_KEY, for example from "
            "`python -c 'import secrets; print(secrets.token_urlsafe(50))'`, or set DEBUG=true on your own machine."
        )
    SECRET_KEY = secrets.token_urlsafe(50)

# The machine may always ask itself, for its health checks.
ALLOWED_HOSTS = [*env.hosts("ALLOWED_HOSTS"), "localhost", "127.0.0.1", "[::1]"]
CSRF_TRUSTED_ORIGINS = env.list("CSRF_TRUSTED_ORIGINS", default=[])
HTTPS = env.switch("HTTPS", default=not (DEBUG or TESTING))
SECURE_SSL_REDIRECT = HTTPS
SECURE_REDIRECT_EXEMPT = [r"^healthz$"]
SECURE_HSTS_SECONDS = 31_536_000 if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = HTTPS
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS
# Behind a proxy that ends TLS, and only there: otherwise a client could claim to be on HTTPS.
if env.switch("BEHIND_PROXY", default=False):
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
# A join link's annotator is known by the session alone, so it lasts as long as a study may.
SESSION_ENGINE = "annotate.accounts.sessions"
SESSION_COOKIE_AGE = 180 * 24 * 3600
SESSION_COOKIE_HTTPONLY = True
CSRF_COOKIE_HTTPONLY = False
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"

# Sites whose pages may be shown inside items, as in "www.youtube-nocookie.com,player.vimeo.com"; links to others stay
# links.
EMBED_HOSTS = env.list("EMBED_HOSTS", default=[])
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF],
        "media-src": [SELF],
        "font-src": [SELF],
        "connect-src": [SELF],
        "frame-src": [f"https://{host}" for host in EMBED_HOSTS] or [NONE],
        "manifest-src": [SELF],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
        "base-uri": [NONE],
    }
}

# --- Apps -------------------------------------------------------------------------------------------------------------
INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.humanize",
    "django.contrib.messages",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "django.forms",
    "allauth",
    "allauth.account",
    "allauth.socialaccount",
    "axes",
    "channels",
    "csp",
    "django_htmx",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "rest_framework",
    "models_engine",
    "annotate",
]

MIDDLEWARE = [
    "annotate.operations.request_counts.CountRequestsMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "annotate.lti.frames.LtiFrameMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "annotate.participation.embedding.middleware.EmbeddedVoteMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "annotate.core.page_language.PageLanguageMiddleware",
    "annotate.operations.thread_shares.RefuseMiddleware",
    "annotate.core.database_outages.DatabaseOutageMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "annotate.core.zero_characters.ZeroCharactersMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "csp.middleware.CSPMiddleware",
    "annotate.core.framing.FramingMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "annotate.core.errors.UserErrorMiddleware",
    "axes.middleware.AxesMiddleware",
]

ROOT_URLCONF = "annotate.urls"
ASGI_APPLICATION = "annotate.asgi.application"
WSGI_APPLICATION = "annotate.wsgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [FILES / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "annotate.accounts.adapter.signup_context",
            ],
        },
    }
]
FORM_RENDERER = "django.forms.renderers.TemplatesSetting"

# --- Data -------------------------------------------------------------------------------------------------------------
# Threads of one web process that answer requests, and milliseconds after which one lets another compute.
WEB_THREADS = env.number("WEB_THREADS", default=20)
WEB_SWITCH_MS = env.number("WEB_SWITCH_MS", default=1)
MAX_CONCURRENT_ANSWERS = env.number("MAX_CONCURRENT_ANSWERS", default=3)  # more would only wait for each other
# How many threads one project or one person may hold of those for annotators, of those for exports, and of the others.
MAX_CONCURRENT_PER_PROJECT = env.number("MAX_CONCURRENT_PER_PROJECT", default=2)
MAX_CONCURRENT_PER_PERSON = env.number("MAX_CONCURRENT_PER_PERSON", default=2)
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

REDIS_URL = env.redis("REDIS_URL")
CACHES = {
    "default": (
        # Rate limits count in the cache: several web processes need one that they share.
        {"BACKEND": "annotate.core.redis_cache.FailOverRedisCache", "LOCATION": REDIS_URL, "KEY_PREFIX": "crowdrank"}
        if REDIS_URL
        else {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "OPTIONS": {"MAX_ENTRIES": 20_000}}
    )
}

# --- Mail -------------------------------------------------------------------------------------------------------------
vars().update(env.mail("EMAIL_URL", default="consolemail://"))
DEFAULT_FROM_EMAIL = SERVER_EMAIL = env.str("DEFAULT_FROM_EMAIL", default="crowdrank@localhost")

# --- People's data ----------------------------------------------------------------------------------------------------
# So many days after a project has closed, what names its annotators is dropped ("personal") or their labels are erased
# as well ("labels"); 0 keeps everything. A project's own setting goes before it.
RETENTION_DAYS = env.number("RETENTION_DAYS", default=0)
RETENTION_SCOPE = env.str("RETENTION_SCOPE", default="personal")
if RETENTION_SCOPE not in ("personal", "labels") or RETENTION_DAYS < 0:
    raise ImproperlyConfigured(
        f"RETENTION_SCOPE is “{RETENTION_SCOPE}” and RETENTION_DAYS {RETENTION_DAYS}: the one has to be personal or "
        "labels, the other 0 or more days."
    )
# How long it is remembered who signed in, or tried to, from which network address.
SIGN_IN_LOG_DAYS = env.number("SIGN_IN_LOG_DAYS", default=90)

# --- First page ---------------------------------------------------------------------------------------------------
# The id of a project of short texts: visitors meet two of its items, and the first places of its ranking.
LANDING_PROJECT = env.identifier("LANDING_PROJECT")
# Where the source code is, for the foot of every page.
SOURCE_URL = env.str("SOURCE_URL", default="")

# --- Language and time ------------------------------------------------------------------------------------------------
LANGUAGE_CODE = "en"
# In their own words. The browser's wish decides, unless a person has chosen (a cookie keeps that).
LANGUAGES = [("en", "English"), ("de", "Deutsch"), ("es", "Español"), ("fr", "Français")]
LANGUAGE_COOKIE_AGE = 365 * 24 * 3600
LANGUAGE_COOKIE_SECURE = HTTPS
LANGUAGE_COOKIE_HTTPONLY = True
LANGUAGE_COOKIE_SAMESITE = "Lax"
LOCALE_PATHS = [PACKAGE / "locale"]
USE_I18N = USE_TZ = True
TIME_ZONE = env.str("TIME_ZONE", default="UTC")

# --- Files ------------------------------------------------------------------------------------------------------------
STATIC_URL = "/static/"
STATIC_ROOT = None if DEBUG or TESTING else env.str("STATIC_ROOT", default=str(BASE_DIR / "staticfiles"))
STATICFILES_DIRS = [FILES / "static"]
WHITENOISE_USE_FINDERS = DEBUG or TESTING
WHITENOISE_AUTOREFRESH = False
STORAGES = {
    "default": parse_storage_url(env.str("STORAGE_URL", default="")),
    "staticfiles": {
        "BACKEND": (
            "django.contrib.staticfiles.storage.StaticFilesStorage"
            if DEBUG or TESTING
            else "whitenoise.storage.CompressedManifestStaticFilesStorage"
        )
    },
}
# Item media is served by a view that checks who asks; the web server must not serve this folder.
MEDIA_ROOT = env.str("MEDIA_ROOT", default=str(BASE_DIR / "media"))
# How large a file of an item may be.
MAX_IMAGE_MB = env.number("MAX_IMAGE_MB", default=10)
MAX_RECORDING_MB = env.number("MAX_RECORDING_MB", default=50)
# Of a PDF or DOCX: its size, its pages (or pictures), and the pages of all documents of one import.
MAX_DOCUMENT_MB = env.number("MAX_DOCUMENT_MB", default=30)
MAX_DOCUMENT_PAGES = env.number("MAX_DOCUMENT_PAGES", default=40)
MAX_IMPORT_PAGES = env.number("MAX_IMPORT_PAGES", default=2_000)
DATA_UPLOAD_MAX_MEMORY_SIZE = 20 * 1024 * 1024
DATA_UPLOAD_MAX_NUMBER_FIELDS = 2_000
# More than an import takes, so that its own message with the limit is seen.
DATA_UPLOAD_MAX_NUMBER_FILES = 1_000
FILE_UPLOAD_MAX_MEMORY_SIZE = 5 * 1024 * 1024

# --- Webhooks ---------------------------------------------------------------------------------------------------------
# An owner names the address that this machine then calls: never one inside the network it stands in, unless told so.
WEBHOOKS_ALLOW_PRIVATE = env.switch("WEBHOOKS_ALLOW_PRIVATE", default=False)
WEBHOOKS_ALLOW_HTTP = env.switch("WEBHOOKS_ALLOW_HTTP", default=DEBUG)

# --- Platforms --------------------------------------------------------------------------------------------------------
# Hosts to which participants may be sent back with a completion code; "*." stands for any name in front.
ALLOWED_RETURN_HOSTS = env.list(
    "ALLOWED_RETURN_HOSTS",
    default=["app.prolific.com", "app.prolific.co", "connect.cloudresearch.com", "*.sona-systems.com"],
)

# --- The engine -------------------------------------------------------------------------------------------------------
PRESENTATION_LEASE_MINUTES = env.number("PRESENTATION_LEASE_MINUTES", default=15)  # then it goes back to the pool
# An engine that has not renewed its lease for this many seconds is taken for dead.
WORKER_LEASE_SECONDS = env.number("WORKER_LEASE_SECONDS", default=30)
# What one job of a worker may use; 0 draws the limit from the project's size, as annotate/jobs/limits.py says.
WORKER_JOB_MEMORY_MB = env.number("WORKER_JOB_MEMORY_MB", default=0)
WORKER_JOB_CPU_SECONDS = env.number("WORKER_JOB_CPU_SECONDS", default=0)
WORKER_JOB_SECONDS = env.number("WORKER_JOB_SECONDS", default=0)
ENGINE_CLUSTER = env.cluster("ENGINE_CLUSTER")  # a Dask scheduler, for large fits; empty: they run in process
# An evaluation of the estimators waits for an idle worker this many minutes at most; then it goes before a fit.
WORKER_EVALUATION_MINUTES = env.number("WORKER_EVALUATION_MINUTES", default=10)

# --- Monitoring -------------------------------------------------------------------------------------------------------
METRICS_TOKEN = env.secret("METRICS_TOKEN")  # who sends it may read /metrics; empty: there is no such address
# "line": for people. "json": one object a line, for programs.
LOG_FORMAT = env.str("LOG_FORMAT", default="line")
if LOG_FORMAT not in ("line", "json"):
    raise ImproperlyConfigured(f"LOG_FORMAT is “{LOG_FORMAT}”: write line or json.")
LOGGING = logging_config(LOG_FORMAT, level=env.str("LOG_LEVEL", default="INFO"))
