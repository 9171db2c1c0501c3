"""Marks the words of program code with classes that the style sheet colours: keywords, strings, numbers, comments."""

import time
from collections.abc import Iterator
from html import escape

from django.utils.safestring import SafeString, mark_safe
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.token import Comment, Keyword, Name, Number, String, _TokenType
from pygments.util import ClassNotFound

MAX_LENGTH = 20_000
# Of CPU for one block; some languages take time with the square of the length. What is left then stays plain.
MAX_SECONDS = 0.3
# Languages whose names may stand behind ```; never guessed from the code.
LANGUAGES = frozenset(
    "bash c cpp csharp css diff go html java javascript js json julia kotlin latex lua matlab php py python r ruby "
    "rust scala sh sql swift toml ts typescript xml yaml".split()
)
CLASSES = (
    (Comment, "code-comment"),
    (Keyword, "code-keyword"),
    (String, "code-string"),
    (Number, "code-number"),
    (Name.Function, "code-name"),
    (Name.Class, "code-name"),
    (Name.Builtin, "code-name"),
    (Name.Tag, "code-keyword"),
)


def render_code(code: str, language: str) -> SafeString:
    """Return the code as a block that scrolls by keyboard; plain where the language is unknown or the code too long."""
    name = language.strip().lower()
    lexer = lexer_of(name) if len(code) <= MAX_LENGTH else None
    inside = "".join(marked_words(code, lexer)) if lexer else escape(code)
    return mark_safe(f'<pre class="code" tabindex="0"><code>{inside}</code></pre>')  # noqa: S308  (all text escaped)


def marked_words(code: str, lexer: Lexer) -> Iterator[str]:
    """Yield the words of the code in order, marked while there is time."""
    began, done = time.thread_time(), 0
    # By itself get_tokens would write other ends of lines first, so that nobody knew how far it is.
    code = code.replace("\r\n", "\n").replace("\r", "\n")
    for at, kind, text in lexer.get_tokens_unprocessed(code):
        yield marked(kind, text)
        done = at + len(text)
        if time.thread_time() - began > MAX_SECONDS:
            break
    yield escape(code[done:])


def lexer_of(name: str) -> Lexer | None:
    if name not in LANGUAGES:
        return None
    try:
        return get_lexer_by_name(name, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


def marked(kind: _TokenType, text: str) -> str:
    found = next((name for known, name in CLASSES if kind in known), "")
    return f'<span class="{found}">{escape(text)}</span>' if found else escape(text)
