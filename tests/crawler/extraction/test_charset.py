"""Charsets: declared rightly, declared wrongly, and not declared at all."""

from __future__ import annotations

import pytest

from ipmicra.crawler.extraction.charset import as_utf8

RUSSIAN = "Съешь же ещё этих мягких французских булок, да выпей чаю. " * 3
JAPANESE = "日本語の文章です。今日はとても良い天気ですね。" * 3
FRENCH = "Voilà un été très français, où l’on déjeune à l’ombre des chênes. " * 3


def decoded(body: bytes, content_type: str) -> tuple[str, str]:
    utf8, charset = as_utf8(body, content_type)
    return utf8.decode(), charset


def meta(label: str) -> bytes:
    return f'<meta http-equiv="Content-Type" content="text/html; charset={label}">'.encode()


@pytest.mark.parametrize(
    ("body", "content_type", "text", "charset"),
    [
        (FRENCH.encode(), "text/html; charset=utf-8", FRENCH, "utf-8"),
        (FRENCH.encode("cp1252"), "text/html; charset=ISO-8859-1", FRENCH, "iso-8859-1"),
        (RUSSIAN.encode("cp1251"), 'text/html; charset="windows-1251"', RUSSIAN, "windows-1251"),
        (JAPANESE.encode("shift_jis"), "text/html;charset=Shift_JIS", JAPANESE, "shift_jis"),
        (b"\xef\xbb\xbf" + FRENCH.encode(), "text/html; charset=latin1", FRENCH, "utf-8"),
        (b"\xff\xfe" + FRENCH.encode("utf-16le"), "text/html", FRENCH, "utf-16le"),
        # the header lies: valid UTF-8 beyond ASCII is no accident
        (FRENCH.encode(), "text/html; charset=iso-8859-1", FRENCH, "utf-8"),
        # the header says UTF-8, the bytes say otherwise
        (RUSSIAN.encode("cp1251"), "text/html; charset=utf-8", RUSSIAN, "windows-1251"),
        # nobody says anything
        (FRENCH.encode(), "text/html", FRENCH, "utf-8"),
        (RUSSIAN.encode("koi8-r"), "text/html", RUSSIAN, "koi8-u"),
        (JAPANESE.encode("euc_jp"), "text/html", JAPANESE, "euc-jp"),
        (JAPANESE.encode("shift_jis"), "", JAPANESE, "shift_jis"),
        # an unknown label is no label
        (FRENCH.encode(), "text/html; charset=martian", FRENCH, "utf-8"),
    ],
)
def test_text_is_decoded_as_it_was_written(
    body: bytes, content_type: str, text: str, charset: str
) -> None:
    assert decoded(body, content_type) == (text, charset)


@pytest.mark.parametrize("label", ["windows-1251", "koi8-r"])
def test_a_meta_element_is_believed_where_the_header_is_silent(label: str) -> None:
    text, charset = decoded(meta(label) + RUSSIAN.encode(label), "text/html")
    assert text.endswith(RUSSIAN)
    assert charset == label


def test_a_meta_element_that_says_utf_16_in_ascii_is_wrong() -> None:
    text, charset = decoded(meta("utf-16") + FRENCH.encode(), "text/html")
    assert text.endswith(FRENCH)
    assert charset == "utf-8"


def test_one_bad_byte_does_not_spoil_a_page_of_utf_8() -> None:
    text, charset = decoded(FRENCH.encode() + b"\xff", "text/html; charset=utf-8")
    assert (text, charset) == (FRENCH + "\ufffd", "utf-8")
