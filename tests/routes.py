"""The site's own addresses, out of the urls of every subject."""

from django.urls import URLPattern, URLResolver

from annotate.urls import urlpatterns


def patterns_without_prefix() -> list[URLPattern]:
    found = []
    for entry in urlpatterns:
        if isinstance(entry, URLPattern):
            found.append(entry)
        elif not str(entry.pattern):
            found += entry.url_patterns
    return found


# The pages of the subjects; OTHERS: the prefixes of allauth, the admin and the API.
ROUTES = patterns_without_prefix()
OTHERS = {str(entry.pattern) for entry in urlpatterns if isinstance(entry, URLResolver) and str(entry.pattern)}
