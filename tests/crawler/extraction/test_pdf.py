"""PDF: read where the extra is installed, harmless where it is broken."""

from __future__ import annotations

from ipmicra.crawler.extraction import extract

URL = "http://a.example/paper.pdf"


def pdf(text: str, title: str) -> bytes:
    """A PDF of one page, made by hand."""
    stream = f"BT /F1 24 Tf 72 720 Td ({text}) Tj ET".encode()
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 /MediaBox [0 0 612 792] >>",
        b"<< /Type /Page /Parent 2 0 R /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        f"<< /Title ({title}) >>".encode(),
    ]
    data, offsets = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        offsets.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    count = len(objects) + 1
    return data + (
        b"xref\n0 %d\n0000000000 65535 f \n%s" % (count, table)
        + b"trailer\n<< /Size %d /Root 1 0 R /Info 6 0 R >>\nstartxref\n%d\n%%%%EOF\n"
        % (count, len(data))
    )


def test_a_pdf_gives_its_title_and_text() -> None:
    page = extract(pdf("Locality aware crawling", "A paper"), "application/pdf", URL)
    assert (page.title, page.text) == ("A paper", "Locality aware crawling")
    assert page.media_type == "application/pdf"


def test_a_pdf_without_title_is_called_by_its_first_line() -> None:
    assert extract(pdf("First line", ""), "application/pdf", URL).title == "First line"


def test_a_broken_pdf_gives_an_address_and_nothing_else() -> None:
    for body in (b"", b"%PDF-1.4\n", pdf("x", "y")[:150], b"%PDF-1.4" + bytes(5000)):
        page = extract(body, "application/pdf", URL)
        assert (page.url, page.text) == (URL, "")


def test_of_a_pdf_with_a_broken_page_the_others_are_read() -> None:
    whole = pdf("Locality aware", "A paper")
    broken = whole.replace(
        b"/Kids [3 0 R] /Count 1 /MediaBox [0 0 612 792]", b"/Kids [5 0 R 3 0 R 7 0 R] /Count 3"
    )
    page = extract(broken, "application/pdf", URL)
    assert "Locality aware" in page.text
    assert page.truncated
