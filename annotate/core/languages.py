"""Names of languages."""

from django.utils.translation import get_language_info


def language_name(language: str) -> str:
    """Return the language in its own words; the tag where Django has none."""
    try:
        return str(get_language_info(language)["name_local"])
    except KeyError:
        return language
