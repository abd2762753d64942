"""A PDF of two kilobytes whose forms draw forms that draw forms: each level takes ten times as long."""

from __future__ import annotations

TIMES = 10


def nested_forms(levels: int) -> bytes:
    """Of some 8 levels on no reader comes to an end."""
    first_form = 5
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 /MediaBox [0 0 612 792] >>",
        b"<< /Type /Page /Parent 2 0 R /Contents 4 0 R /Resources %s >>" % _resources(first_form),
        _stream(b"", b"/X Do " * TIMES),
    ]
    for level in range(levels):
        number = first_form + level
        form = b"/Type /XObject /Subtype /Form /BBox [0 0 612 792] /Resources "
        if level < levels - 1:
            objects.append(_stream(form + _resources(number + 1), b"/X Do " * TIMES))
        else:
            font = b"<< /Font << /F << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >>"
            objects.append(_stream(form + font, b"BT /F 24 Tf 72 720 Td (deep) Tj ET"))
    return _file(objects)


def _resources(form: int) -> bytes:
    return b"<< /XObject << /X %d 0 R >> >>" % form


def _stream(entries: bytes, content: bytes) -> bytes:
    return b"<< %s /Length %d >>\nstream\n%s\nendstream" % (entries, len(content), content)


def _file(objects: list[bytes]) -> bytes:
    data, offsets = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        offsets.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    count = len(objects) + 1
    trailer = b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (count, len(data))
    return data + b"xref\n0 %d\n0000000000 65535 f \n%s" % (count, table) + trailer
