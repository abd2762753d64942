"""The program of a parser process: jobs on the standard input -> replies on the standard output.

    python -m ipmicra.crawler.parsing.process SECONDS BYTES

Invariant: before the first job it has given up what it does not need: it opens no file and no socket, writes
no file, starts no process, gains no privilege, and has so many bytes of memory and seconds of processor time
for a job. It ends when the crawler closes its input, and with the crawler.
"""

from __future__ import annotations

import codecs
import math
import os
import resource
import sys
import traceback

import msgspec

from ipmicra.crawler.parsing.frames import LENGTH, Defect, Done, ParserReply, Ready, decode_job, frame
from ipmicra.crawler.parsing.jobs import ParseJob, parse
from ipmicra.crawler.parsing.own_process import die_with_parent, renounce_privileges

_CHARACTERS_MAX = 500  # of a traceback's end
_SAMPLES = (
    (
        "text/html",
        b"<html lang=x><title>a</title><meta name=date content=2020-01-01><p>text<a href=/b>b</a>",
    ),
    ("text/html", "<p>été à la carte, où était Noël ?".encode("latin-1") * 20),
    ("text/html", b"\xff\xfe" + "<p>a".encode("utf-16le")),
    ("text/html", b"\xfe\xff" + "<p>a".encode("utf-16be")),
    (
        "text/plain",
        b"The quick brown fox jumps over the lazy dog, as it does in every text of this kind.",
    ),
    ("application/xhtml+xml", b"<p/>"),
    ("application/pdf", b"%PDF-1.4 is not enough"),
)


def main(seconds_max: float, bytes_max: int) -> None:
    die_with_parent(os.getppid())
    _become_confined(bytes_max)
    _send(Ready())
    while (job := _next_job()) is not None:
        used = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
        _limit_soft(resource.RLIMIT_CPU, math.ceil(used + seconds_max) + 1)
        _send(_parsed(job))


def _parsed(job: ParseJob) -> Done | Defect:
    try:
        return Done(parse(job))
    except MemoryError:
        raise
    except Exception:
        return Defect(traceback.format_exc()[-_CHARACTERS_MAX:])


def _become_confined(bytes_max: int) -> None:
    """What is loaded when it is first used is used once before, since later no file can be opened."""
    for content_type, body in _SAMPLES:
        parse(ParseJob(body=body, content_type=content_type, url="http://a.example/", last_modified="x"))
    for name in ("utf-8", "utf-16le", "utf-16be", "latin-1"):
        codecs.lookup(name)
    renounce_privileges()
    _limit(resource.RLIMIT_AS, bytes_max)
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_FSIZE, 0)
    _limit(resource.RLIMIT_NOFILE, 0)  # those that are open stay open
    _limit(resource.RLIMIT_NPROC, 0)


def _limit(what: int, amount: int) -> None:
    """For good. What the machine limits more strictly stays so."""
    _, hard = resource.getrlimit(what)
    amount = amount if hard == resource.RLIM_INFINITY else min(amount, hard)
    resource.setrlimit(what, (amount, amount))


def _limit_soft(what: int, amount: int) -> None:
    _, hard = resource.getrlimit(what)
    resource.setrlimit(what, (amount, hard))


def _next_job() -> ParseJob | None:
    head, body = _next_frame(), _next_frame()
    if head is None or body is None:
        return None
    return msgspec.structs.replace(decode_job(head), body=body)


def _next_frame() -> bytes | None:
    head = sys.stdin.buffer.read(LENGTH.size)
    return sys.stdin.buffer.read(LENGTH.unpack(head)[0]) if len(head) == LENGTH.size else None


def _send(reply: ParserReply) -> None:
    sys.stdout.buffer.writelines(frame(reply))
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main(float(sys.argv[1]), int(sys.argv[2]))
