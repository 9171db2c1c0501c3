"""What people's Markdown may become: words, structure and links, and nothing that runs, loads or misleads."""

import re
import time
import xml.etree.ElementTree as ElementTree
from html import escape

import pytest

from annotate.core import formulas, sanitizing
from annotate.core.sanitizing import (
    CACHED_LENGTH,
    MAX_FORMULAS,
    MAX_LENGTH,
    MORE_TAGS,
    TAGS,
    render_markdown,
    render_text,
    sanitize_html,
    strip_tags,
)
from tests.pace import is_within

pytestmark = pytest.mark.embedded

HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg><script>alert(1)</script></svg>",
    "<iframe src='https://evil.example'></iframe>",
    '<p style="position:fixed" onclick="alert(1)" class="button" id="task">x</p>',
    "<a href='javascript:alert(1)'>x</a>",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](java&#x73;cript:alert(1))",
    "[x](\x01javascript:alert(1))",
    "[x](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)",
    "[x](vbscript:msgbox)",
    "[x](/projects/1/delete/)",
    "[x](//evil.example)",
    "[x](https://e.example 'a\" onmouseover=\"alert(1)')",
    '[x](https://e.example"onmouseover="alert(1))',
    "<javascript:alert(1)>",
    "![x](https://tracker.example/pixel.png)",
    '![x" onerror="alert(1)](x)',
    "![<script>alert(1)</script>](x)",
    "[![x](javascript:alert(1))](javascript:alert(1))",
    "```\n<script>alert(1)</script>\n```",
    '```"><script>alert(1)</script>\nx\n```',
    "`<script>alert(1)</script>`",
    "<!-- --><script>alert(1)</script>",
    "<style>*{display:none}</style>",
    "<form action=/projects/new/><input name=a></form>",
    "<math><mtext></mtext><mglyph><style><img src=x onerror=alert(1)></style></math>",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "| a |\n|---|\n| <script>alert(1)</script> |",
]


@pytest.mark.parametrize("kind", ["markdown", "html", "text"])
@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_runs_or_loads(text, kind):
    html = render_text(text, kind).replace('<pre class="code" tabindex="0">', "<pre>")
    for tag, attributes in re.findall(r"<(\w+)([^>]*)>", html):
        assert tag in TAGS | MORE_TAGS - {"h1", "h2"}, html
        for name, value in re.findall(r'([\w-]+)="([^"]*)"', attributes):
            assert name in {"href", "rel", "target", "start", "colspan", "rowspan"}, html
            if name == "href":
                assert re.match(r"(https?://|mailto:)", value), html


def test_structure_is_kept():
    html = render_markdown(
        "**bold** _slant_ ~~gone~~ `code`\n\n1. one\n2. two\n\n> quoted\n\n| a | b |\n|---|---|\n| 1 | 2 |"
    )
    for piece in ("<strong>bold</strong>", "<em>slant</em>", "<s>gone</s>", "<code>code</code>", "<li>one</li>"):
        assert piece in html
    assert "<blockquote>" in html
    assert "<td>2</td>" in html


def test_headings_begin_below_the_pages_own():
    assert render_markdown("# Top\n\n## Next\n\n###### Deep") == "<h3>Top</h3>\n<h4>Next</h4>\n<h6>Deep</h6>\n"


def test_links_open_apart_and_vouch_for_nothing():
    html = render_markdown("[there](https://example.org/?a=1&b=2)")
    assert 'href="https://example.org/?a=1&amp;b=2"' in html
    assert 'target="_blank"' in html
    assert 'rel="nofollow noopener noreferrer"' in html


def test_an_image_is_told_in_words():
    assert render_markdown("before ![a <b>cat</b>](https://e.example/cat.png) after") == (
        "<p>before a &lt;b&gt;cat&lt;/b&gt; after</p>\n"
    )


def test_tags_in_words_are_words():
    assert render_markdown("if a < b && c > d") == "<p>if a &lt; b &amp;&amp; c &gt; d</p>\n"


def test_a_text_too_long_to_parse_is_shown_as_typed():
    html = render_markdown("*" * MAX_LENGTH + "<script>")
    assert "<em>" not in html
    assert "&lt;script&gt;" in html


@pytest.mark.slow
@pytest.mark.parametrize("piece", ["[", "![a", "*a ", "> ", "`", "|", "* a\n  ", "<", "&", "_"])
def test_time_grows_in_step_with_length(piece):
    """Doubling a hostile text twice at most doubles the time twice, with room for a busy machine."""

    def seconds(length: int) -> float:
        text = (piece * length)[:length]
        start = time.process_time()
        render_markdown(text)
        return time.process_time() - start

    short = min(seconds(MAX_LENGTH // 8) for _ in range(3))
    assert is_within(min(seconds(MAX_LENGTH // 2) for _ in range(3)) - 12 * short, 0.2)


def test_html_keeps_structure_and_its_headings_go_below_the_pages():
    text = (
        "<h1 class=x>One</h1><h3>Two</h3><p>a<sub>2</sub> <b onclick=x()>b</b></p><table><td colspan=2>c</td></table>"
    )
    shown = sanitize_html(text)
    for piece in ("<h3>One</h3>", "<h5>Two</h5>", "<sub>2</sub>", "<b>b</b>", '<td colspan="2">c</td>'):
        assert piece in shown
    assert "<script" not in sanitize_html("<scr<script>ipt>alert(1)</scr</script>ipt>")


def test_html_in_one_line_is_its_words():
    assert strip_tags("<p>One &lt;b&gt;</p><p>two</p><script>x</script>").split() == ["One", "<b>", "two"]


@pytest.mark.parametrize(
    "text", ["<b>" * 30_000, "<table>" * 5_000, "<a href='https://e.example'>" * 3_000, "&" * 100_000]
)
def test_html_that_is_nested_deep_is_cleaned(text):
    assert len(sanitize_html(text + "words")) > 0
    assert "words" in strip_tags(text + "words")


@pytest.mark.parametrize("text", ["<div>" * 20_000, "<section><div>" * 5_000, "<div>a" * 10_000])
def test_deep_html_is_shown_as_its_words_without_being_parsed(text):
    """Cleaning it takes time with the square of its depth: a second and more for 100 kB, on every page with it."""
    start = time.process_time()
    shown = sanitize_html(text + "<script>words</script> &lt;b&gt;")
    assert is_within(time.process_time() - start, 0.5)
    assert "words" in shown
    assert "<script" not in shown
    assert "&lt;b&gt;" in shown
    assert "words" in strip_tags(text + "words")


def test_html_with_many_elements_side_by_side_is_not_deep():
    text = "<table>" + "<tr><td>a<td>b" * 500 + "</table>" + "<p>c<br>d" * 500
    assert sanitize_html(text).count("<td>") == 1000


def test_a_long_text_is_rendered_once(monkeypatch):
    text = "word " * CACHED_LENGTH
    first = render_markdown(text)
    monkeypatch.setattr(sanitizing.PARSER, "parse", lambda _text: pytest.fail("It was rendered again."))
    assert render_markdown(text) == first
    with pytest.raises(pytest.fail.Exception):
        render_markdown("word")


# --- Formulas and code ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "piece"),
    [
        (r"Area $\pi r^2$.", "<msup><mi>r</mi><mn>2</mn></msup>"),
        ("$$\n\\frac{a}{b}\n$$", 'display="block"'),
        (r"so \(a<b\) holds", "<mo>&lt;</mo>"),
        (r"$\sum_{i=1}^n x_i$", "∑"),
        (r"$\begin{matrix}a&b\\c&d\end{matrix}$", "<mtd><mi>d</mi></mtd>"),
        ("| a |\n|-|\n| $x$ |", "<td><math"),
    ],
)
def test_formulas_become_mathml(text, piece):
    assert piece in render_markdown(text)


@pytest.mark.parametrize("text", ["It costs $5, at most $6.", "`$x$`", "Not \\$y$."])
def test_money_code_and_escaped_signs_are_no_formulas(text):
    assert "<math" not in render_markdown(text)


@pytest.mark.parametrize(
    "latex",
    [
        r"\text{<script>alert(1)</script>}",
        r"\text{&lt;img src=x onerror=alert(1)&gt;}",
        r"\href{javascript:alert(1)}{x}",
        r"\color{red;background:url(https://evil.example)}x",
        r"\style{position:fixed}{x}",
        r"\class{button}{x}",
        r"\unicode{60}script\unicode{62}",
    ],
)
def test_no_formula_runs_loads_or_dresses_up(latex):
    shown = render_markdown(f"a ${latex}$ b")
    root = ElementTree.fromstring(f"<div>{shown}</div>")
    for element in root.iter():
        assert element.tag.rpartition("}")[2] in {*TAGS, *formulas.TAGS, "div"}
        assert set(element.attrib) <= {*formulas.ATTRIBUTES, "alttext"}


@pytest.mark.parametrize(
    "latex",
    ["{" * 500 + "a" + "}" * 500, "^" * 50, r"\frac{", "a_" * 900, r"\left(" * 300, r"\sqrt{" * 200 + "x" + "}" * 200],
)
def test_a_formula_that_cannot_be_read_or_is_too_deep_is_shown_as_typed(latex):
    assert f"<code>{escape(latex)}</code>" in render_markdown(f"a ${latex}$ b")


def test_formulas_beyond_the_limit_are_shown_as_typed():
    shown = render_markdown("$x$ " * (MAX_FORMULAS + 10))
    assert shown.count("<math") == MAX_FORMULAS


def test_code_of_a_known_language_has_its_words_marked():
    shown = render_markdown("```python\ndef f(x):\n    return '<b>'  # why\n```")
    for piece in ('<span class="code-keyword">def</span>', '<span class="code-name">f</span>', "&lt;b&gt;", "# why"):
        assert piece in shown
    words = "".join(ElementTree.fromstring(f"<div>{shown}</div>").itertext())
    assert words.strip() == "def f(x):\n    return '<b>'  # why"


@pytest.mark.parametrize("language", ["", "nolanguage", "python'><script>alert(1)</script>"])
def test_other_code_is_plain(language):
    shown = render_markdown(f"```{language}\n<b>\n```")
    assert '<pre class="code" tabindex="0"><code>&lt;b&gt;\n</code></pre>' in shown
    assert "<script" not in shown


def test_nobody_can_write_what_stands_for_a_formula():
    assert "aside-" in render_markdown("aside-0123456789abcdef01234567-0- and $x$")
