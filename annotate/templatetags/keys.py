"""Template tags for the keys of the task page: what presses an element, and the key caps that say so."""

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotate.labelling.keys.bindings import DEFAULTS, Keys

register = template.Library()
CAPS = {
    "Space": gettext_lazy("Space"),
    "Enter": gettext_lazy("Enter"),
    "ArrowLeft": "←",
    "ArrowRight": "→",
    "Backspace": "⌫",
}


@register.filter
def key_of(keys: Keys, action: str) -> str:
    """Return the character that does it, or nothing."""
    return keys.of(action)


@register.simple_tag
def pressed_by(keys: Keys, action: str, other: str = "") -> SafeString:
    """Attributes by which keys.js finds the element and screen readers tell its keys. other: what else it does."""
    key, also = keys.of(action), [*keys.also(action), *second(keys, action, other)]
    shortcuts = " ".join(name for name in [key, *also] if name and not name.startswith("Numpad"))
    return format_html(
        ' data-key="{}" data-also="{}"{}',
        key,
        " ".join(also),
        format_html(' aria-keyshortcuts="{}"', shortcuts) if shortcuts else "",
    )


def second(keys: Keys, action: str, other: str) -> list[str]:
    """Return the keys of another action that this one is too, unless this one's key was chosen."""
    return [keys.of(other), *keys.also(other)] if other and keys.of(action) == DEFAULTS[action] else []


@register.simple_tag
def key_cap(keys: Keys, action: str) -> SafeString | str:
    """Return the key on a button, hidden from screen readers; nothing where it has none."""
    named = CAPS["Enter"] if action == "done" else CAPS["Space"] if action == "skip" and keys.of(action) == "s" else ""
    cap = named or keys.of(action)
    return format_html('<kbd class="needs-js" aria-hidden="true">{}</kbd> ', cap) if cap else ""


@register.simple_tag
def key_caps(keys: Keys, action: str, other: str = "") -> SafeString:
    """Return every key of an action, for the help; "none" where it has none."""
    names = [keys.of(action), *keys.also(action), *second(keys, action, other)[:1]]
    caps = [CAPS.get(name, name) for name in names if name and not name.startswith("Numpad")]
    return format_html_join(" ", "<kbd>{}</kbd>", ((cap,) for cap in caps)) or format_html("{}", _("no key"))
