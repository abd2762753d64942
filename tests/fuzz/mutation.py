"""Honest inputs and a seeded generator -> inputs that are nearly honest.

Invariant: the same seed gives the same inputs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random

TOKENS = (
    b"\x00", b"\xff", b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff\xff\xff\xff\xff", b"\r\n\r\n", b"\n", b"\t",
    b"0", b"-1", b"9223372036854775808", b"1e309", b"NaN", b"%00", b"%", b"*", b"$", b"../", b"\\", b"\"",
    b"<", b"<!--", b"<![CDATA[", b"<script>", b"<a href=", b"<table><td>", b"&#x10ffff;", b"&amp", b"]]>",
    b"(", b")", b"OR", b"NOT ", b"site:", b":", b"#", b"user-agent: *\n", b"disallow: /", b"\x1f\x8b",
    b"chunked", b"Content-Length: ", b"Transfer-Encoding: chunked\r\n", b"\xed\xa0\x80", b"\xef\xbb\xbf",
)  # fmt: skip


def inputs(seeds: Sequence[bytes], random: Random, bytes_max: int) -> Iterator[bytes]:
    """Every seed as it is, then mutated ones without end."""
    yield from (seed[:bytes_max] for seed in seeds)
    while True:
        data = bytearray(random.choice(seeds))
        for _ in range(random.choice((1, 1, 2, 4, 16))):
            mutate(data, random, seeds)
        yield bytes(data[:bytes_max])


def mutate(data: bytearray, random: Random, seeds: Sequence[bytes]) -> None:
    at = random.randint(0, len(data))
    end = min(len(data), at + random.choice((1, 4, 40, 400)))
    match random.randrange(7):
        case 0:
            del data[at:end]
        case 1:
            data[at:at] = data[at:end] * random.choice((1, 2, 50, 1_000))
        case 2:
            data[at:end] = random.randbytes(end - at)
        case 3:
            data[at:at] = random.choice(TOKENS) * random.choice((1, 1, 3, 300))
        case 4 if at < len(data):
            data[at] ^= 1 << random.randrange(8)
        case 5:
            other = random.choice(seeds)
            start = random.randint(0, len(other))
            data[at:end] = other[start : start + random.choice((4, 40, 4_000))]
        case _:
            del data[at:]
