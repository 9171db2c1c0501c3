"""HTTP and websocket, by one ASGI server: pages run as WSGI in threads that keep their database connections.

Streams, which last, hold no thread.
"""

import gc
import os
import sys

from a2wsgi import WSGIMiddleware
from django.core.wsgi import get_wsgi_application

gc.disable()  # a look for garbage goes through all that was imported before

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "annotate.settings")
django = get_wsgi_application()

from channels.auth import AuthMiddlewareStack  # noqa: E402  (Django must be set up before models are imported)
from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402
from channels.security.websocket import AllowedHostsOriginValidator  # noqa: E402
from django.conf import settings  # noqa: E402
from django.urls import re_path  # noqa: E402

from annotate.core.database_silence import watch_for_silence  # noqa: E402
from annotate.core.request_buffering import BufferRequests  # noqa: E402
from annotate.core.response_buffering import BufferResponses  # noqa: E402
from annotate.operations.request_counts import COUNTS  # noqa: E402
from annotate.operations.thread_shares import ShareThreads, limits_of  # noqa: E402
from annotate.urls import stream_urlpatterns, websocket_urlpatterns  # noqa: E402

# An answer asks the database some twenty times and waits as often for its turn among the threads: not 5 ms each time.
sys.setswitchinterval(max(1, settings.WEB_SWITCH_MS) / 1000)
COUNTS.start()
watch_for_silence()
in_threads = WSGIMiddleware(django, workers=settings.WEB_THREADS)  # type: ignore[arg-type]
limits = limits_of(
    settings.WEB_THREADS,
    settings.MAX_CONCURRENT_ANSWERS,
    settings.MAX_CONCURRENT_PER_PROJECT,
    settings.MAX_CONCURRENT_PER_PERSON,
)
pages = BufferRequests(BufferResponses(ShareThreads(in_threads, limits)))  # type: ignore[arg-type]
application = ProtocolTypeRouter(
    {
        "http": URLRouter([*stream_urlpatterns, re_path("", pages)]),  # type: ignore[arg-type]
        "websocket": AllowedHostsOriginValidator(AuthMiddlewareStack(URLRouter(websocket_urlpatterns))),
    }
)
gc.freeze()  # what is here stays: it is left out of every later look, the one at the end too
gc.enable()
