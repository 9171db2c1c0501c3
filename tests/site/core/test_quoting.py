"""What people wrote stands in the quotation marks of the reader's language, on pages too."""

import pytest
from django.utils.translation import override

from annotate.core.quoting import quoted
from annotate.dashboard.ranking.headline import quote_title

pytestmark = pytest.mark.embedded


@pytest.mark.parametrize(
    ("language", "expected"), [("en", "“Oak”"), ("de", "„Oak“"), ("es", "«Oak»"), ("fr", "«\xa0Oak\xa0»")]
)
def test_quotation_marks_are_those_of_the_language(language, expected):
    with override(language):
        assert quoted("Oak") == expected
        assert quote_title("Oak") == f"<bdi>{expected}</bdi>"


def test_what_people_wrote_is_escaped_on_pages():
    assert quote_title("<b>%(text)s") == "<bdi>“&lt;b&gt;%(text)s”</bdi>"
