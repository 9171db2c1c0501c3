"""What people's Markdown may become: words, structure and links, and nothing that runs, loads or misleads."""

import re
import time

import pytest

from annotate.core.sanitizing import (
    MAX_LENGTH,
    MORE_TAGS,
    TAGS,
    render_markdown,
    render_text,
    sanitize_html,
    strip_tags,
)

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
    html = render_text(text, kind)
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
    assert min(seconds(MAX_LENGTH // 2) for _ in range(3)) < 0.2 + 12 * short


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
