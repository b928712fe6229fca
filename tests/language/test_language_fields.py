"""Values of a document as text: what is not ours is made safe to show, and stays readable."""

from __future__ import annotations

import pytest

from everloop.fields import clean, line
from everloop.pictures.elements import plain


@pytest.mark.parametrize(
    ("text", "cleaned", "in_a_line"),
    [
        ("算术\u3000进位", "算术\u3000进位", "算术\u3000进位"),
        ("5\xa0%\u2009of", "5\xa0%\u2009of", "5\xa0%\u2009of"),
        ("a\n  b\tc", "a\n  b\tc", "a   b c"),
        ("a\r\nb\x0bc\u2028d\x85e", "a \nb c d e", "a  b c d e"),
        ("\x1b[2J\0\x7f\x9b", "�[2J���", "�[2J���"),
        ("a\u202eb\u2066c\u200ed\ufeff", "a�b�c�d�", "a�b�c�d�"),
        ("\ud800\ufffe", "��", "��"),
        ("", "", ""),
    ],
)
def test_spaces_stay_and_what_a_reader_cannot_see_does_not(text: str, cleaned: str, in_a_line: str) -> None:
    assert (clean(text), line(text)) == (cleaned, in_a_line)


def test_a_picture_shows_a_text_as_a_page_does_but_in_one_line() -> None:
    assert plain("a\u3000<b>\n\u202ec") == "a\u3000&lt;b&gt; �c"
