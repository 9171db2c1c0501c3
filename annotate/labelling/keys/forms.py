"""What keys an annotator may choose: one character each, none twice; an empty field takes an action's key away."""

import unicodedata
from typing import Any

from django import forms
from django.utils.translation import gettext as _

from annotate.labelling.keys.bindings import DEFAULTS, Keys, is_usable


class KeysForm(forms.Form):
    """A field for each action of the page. actions: what it is called here, by its name in labelling.keys.bindings."""

    def __init__(self, *args: Any, actions: dict[str, str], keys: Keys, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.keys = keys
        for action, words in actions.items():
            self.fields[action] = forms.CharField(
                label=words,
                required=False,
                strip=False,
                initial=keys.of(action),
                max_length=20,
                widget=forms.TextInput(
                    attrs={
                        "autocomplete": "off",
                        "autocapitalize": "off",
                        "spellcheck": "false",
                        "size": 3,
                        "dir": "auto",
                    }
                ),
            )

    def clean(self) -> dict[str, str]:
        given = {action: normalize_key(key) for action, key in self.cleaned_data.items()}
        for action, key in given.items():
            others = [str(self.fields[other].label) for other in given if other != action and given[other] == key]
            if key and not is_usable(key):
                self.add_error(action, unusable_key_error(key))
            elif key and others:
                self.add_error(action, taken_key_error(key, others[0]))
        return given

    def chosen(self) -> dict[str, str]:
        """Return what differs from the usual keys; what was chosen for actions not on the page stays while its key is
        free."""
        given = self.cleaned_data
        kept = {
            action: key for action, key in self.keys.chosen.items() if action not in given and key not in given.values()
        }
        return kept | {action: key for action, key in given.items() if key != DEFAULTS[action]}


def normalize_key(key: str) -> str:
    return unicodedata.normalize("NFC", key).lower()


def unusable_key_error(key: str) -> str:
    if key.isspace():
        return _("The space bar always skips. Type a letter, a digit or a punctuation mark instead.")
    if len(key) > 1:
        return _("“%(key)s” has %(n)d characters. Type a single letter, digit or punctuation mark.") % {
            "key": key,
            "n": len(key),
        }
    return _("“%(key)s” can't be typed on every keyboard. Choose another letter, digit or punctuation mark.") % {
        "key": key
    }


def taken_key_error(key: str, other: str) -> str:
    return _("“%(key)s” is also the key for “%(other)s”. Choose a different key for one of them.") % {
        "key": key,
        "other": other,
    }
