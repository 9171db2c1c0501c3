"""HTTP alone, for gunicorn beside the ASGI server that holds the websockets."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "annotate.settings")
application = get_wsgi_application()
