"""Every setting, read from the environment; unsafe values need DEBUG=true and missing secrets stop the start."""

import secrets
import sys

from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured

from annotate.core.environment import Environment, check_names, parse_service
from annotate.core.folders import DATA, FILES, PACKAGE
from annotate.core.logging_setup import logging_config
from annotate.core.storage import parse_storage_url

# Where data go and processes start: the checkout, or with an installed wheel the current folder.
BASE_DIR = DATA
VERSION = "0.1.0"

env = Environment()
env.prefix = ""

# --- Safety -----------------------------------------------------------------------------------------------------------
DEBUG = env.switch("DEBUG", default=False)
TESTING = "pytest" in sys.modules
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
DATABASES = {"default": env.database("DATABASE_URL", default=f"sqlite:///{BASE_DIR / 'db.sqlite3'}")}
database = DATABASES["default"]
if database["ENGINE"] == "django.db.backends.sqlite3":
    # Readers never wait for writers; a writer takes its lock at BEGIN, so that two of them queue, not fail. What is
    # acknowledged is on the disk (ADR 0022), and what is deleted is overwritten by every build of SQLite.
    database["CONN_MAX_AGE"] = 600
    # Each thread's connection has its own cache: with 64 MB, no faster, large exports would come to hold a gigabyte.
    database["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        "init_command": (
            f"PRAGMA journal_mode=WAL; PRAGMA synchronous={'OFF' if TESTING else 'FULL'}; PRAGMA busy_timeout=20000; "
            "PRAGMA secure_delete=ON; PRAGMA cache_size=-16384; PRAGMA mmap_size=268435456; PRAGMA temp_store=MEMORY;"
        ),
    }
else:
    # A request waits no longer for a connection, nor for a server that has vanished without a word: that acknowledges
    # nothing, and who waits for its answer asks every second whether it is there.
    wait_ms = env.number("DATABASE_CONNECT_MS", default=1200)
    statement_seconds = env.number("DATABASE_STATEMENT_SECONDS", default=600)
    database["OPTIONS"] = {
        "pool": {"min_size": 1, "max_size": env.number("DATABASE_POOL", default=24), "timeout": wait_ms / 1000},
        "connect_timeout": max(2, round(wait_ms / 1000)),
        "options": f"-c statement_timeout={statement_seconds}s",
    } | {"tcp_user_timeout": wait_ms, "keepalives_idle": 1, "keepalives_interval": 1}
    # Asked before each use whether it still lives: else a restart of the server fails a request for every one pooled.
    database["CONN_HEALTH_CHECKS"] = True
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

# --- Accounts ---------------------------------------------------------------------------------------------------------
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
STATIC_ROOT = None if DEBUG or TESTING else BASE_DIR / "staticfiles"
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

# --- API --------------------------------------------------------------------------------------------------------------
REST_FRAMEWORK = {
    # What else a view of the API does by default is said in annotate/api/base.py.
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    # How many times one client may do a thing; annotate/core/rate_limits.py counts.
    "DEFAULT_THROTTLE_RATES": {
        "api": env.rate("RATE_LIMIT_API", default="600/min"),
        "join": env.rate("RATE_LIMIT_JOIN", default="300/min"),
        "short-address": env.rate("RATE_LIMIT_SHORT_ADDRESS", default="20/min"),
        "short-addresses": env.rate("RATE_LIMIT_SHORT_ADDRESSES", default="100/min"),
        "personal-link": env.rate("RATE_LIMIT_PERSONAL_LINK", default="3/hour"),
        "personal-links": env.rate("RATE_LIMIT_PERSONAL_LINKS", default="20/hour"),
        "answer": env.rate("RATE_LIMIT_ANSWER", default="240/min"),
        "export": env.rate("RATE_LIMIT_EXPORT", default="60/min"),
        "import": env.rate("RATE_LIMIT_IMPORT", default="60/min"),
        "password": env.rate("RATE_LIMIT_PASSWORD", default="10/min"),
        "invite": env.rate("RATE_LIMIT_INVITE", default="30/hour"),
        "invite-annotators": env.rate("RATE_LIMIT_INVITE_ANNOTATORS", default="200/hour"),
        "results": env.rate("RATE_LIMIT_RESULTS", default="120/min"),
        "results-live": env.rate("RATE_LIMIT_RESULTS_LIVE", default="2000/min"),
        "results-media": env.rate("RATE_LIMIT_RESULTS_MEDIA", default="2000/min"),
        "code": env.rate("RATE_LIMIT_CODE", default="60/min"),
        "example": env.rate("RATE_LIMIT_EXAMPLE", default="5/hour"),
        "idea": env.rate("RATE_LIMIT_IDEA", default="30/hour"),
        "project-ideas": env.rate("RATE_LIMIT_PROJECT_IDEAS", default="600/hour"),
    },
    "NUM_PROXIES": env.number("NUM_PROXIES", default=0),
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Crowdrank",
    "DESCRIPTION": (
        "Everything that the screens show and do. Lists are paged and keep their order; times are ISO 8601 in UTC; "
        "unknown parameters and fields are refused rather than ignored. Errors are problem details (RFC 9457)."
    ),
    "VERSION": VERSION,
    "SERVE_INCLUDE_SCHEMA": False,
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "COMPONENT_SPLIT_REQUEST": True,
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    "ENFORCE_NON_BLANK_FIELDS": True,
    "ENUM_NAME_OVERRIDES": {
        "ProjectStateEnum": "annotate.models.Project.State",
        "StateStepEnum": ["open", "paused", "closed"],
        "NextStateEnum": "models_engine.models.Estimate.NextState",
        "ItemStateEnum": ["active", "retired"],
        "OutcomeEnum": "annotate.models.Label.Outcome",
        "ExclusionByEnum": "annotate.models.BulkExclusion.By",
        "GradesByEnum": "annotate.models.grades.GradesBy",
        "FieldKindEnum": "annotate.models.QuestionField.Kind",
        "EndKindEnum": "annotate.models.Completion.Kind",
        "ImportKindEnum": "annotate.models.ImportJob.Kind",
        "ImportStateEnum": "annotate.models.ImportJob.State",
        "AskedStatusEnum": "annotate.models.RunRecord.Status",
        "IdeaStateEnum": "annotate.models.Idea.State",
        "ShowResultEnum": "annotate.models.ShowResult",
        "FitStatusEnum": "models_engine.models.Fit.Status",
    },
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "annotate.api.schema.add_problems",
    ],
}

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
