"""One chunk of a question (what stands between spaces) -> words, or a restriction such as `site:`.

Invariant: pure, total, and stated: what each kind of chunk means is in docs/reference/search-syntax.md, and
tests/search/test_query_table.py holds every row of it. A chunk without a letter or digit means nothing.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple, TypeAlias

WORD_CHARACTERS_MAX = 64
FIELDS = ("site", "lang", "inurl", "intitle", "filetype", "near", "after", "before")
_ALIASES = {
    "ext": "filetype",
    "language": "lang",
    "domain": "site",
    "allintitle": "intitle",
    "host": "site",
}

# Names whose sign is part of them: in a question and in a page alike they are one word more.
_SIGNED_NAMES = {
    "c++": "cplusplus", "g++": "gplusplus", "c#": "csharp", "f#": "fsharp", ".net": "dotnet",
    "notepad++": "notepadplusplus",
}  # fmt: skip
_SIGNS = ("++", "c#", "f#", ".net")  # one of which each of them has
_SIGNED = re.compile(r"(?<![\w+#.])(?:notepad\+\+|[cg]\+\+|[cf]#|\.net)(?![\w+#])", re.IGNORECASE)

# Commands whose options may be whole words after one dash: `find -name`.
_COMMANDS = frozenset(
    [
        "ant",
        "apt",
        "awk",
        "bash",
        "cargo",
        "cat",
        "cc",
        "chmod",
        "chown",
        "clang",
        "cmake",
        "cp",
        "curl",
        "date",
        "dd",
        "df",
        "diff",
        "docker",
        "dpkg",
        "du",
        "ffmpeg",
        "find",
        "gcc",
        "gdb",
        "git",
        "go",
        "gpg",
        "grep",
        "gzip",
        "head",
        "htop",
        "ip",
        "java",
        "javac",
        "journalctl",
        "kubectl",
        "ld",
        "ldd",
        "less",
        "ln",
        "ls",
        "lsof",
        "make",
        "man",
        "mkdir",
        "mount",
        "mv",
        "mvn",
        "mysql",
        "nc",
        "netstat",
        "nmap",
        "npm",
        "nslookup",
        "openssl",
        "patch",
        "perl",
        "pg_dump",
        "pg_restore",
        "php",
        "ping",
        "pip",
        "ps",
        "psql",
        "python",
        "python3",
        "rm",
        "rsync",
        "rustc",
        "scp",
        "sed",
        "sh",
        "sort",
        "sqlite3",
        "ssh",
        "sshd",
        "strace",
        "sudo",
        "systemctl",
        "tail",
        "tar",
        "tcpdump",
        "terraform",
        "test",
        "top",
        "touch",
        "tr",
        "ulimit",
        "umount",
        "uname",
        "useradd",
        "vim",
        "wc",
        "wget",
        "xargs",
        "xrandr",
        "yum",
        "zip",
        "zsh",
    ]
)
_COMMAND_LIKE = re.compile(r"[a-z][a-z0-9_.+-]{0,63}")
_OPTION_LIKE = re.compile(r"[A-Za-z0-9]{1,2}|[A-Za-z0-9]{0,30}[A-Z][A-Za-z0-9]{0,30}(=.{0,99})?")

_INVISIBLE = re.compile("[\u00ad\u200c-\u200f\u202a-\u202e\u2060\ufeff]")
_BLANKS = re.compile("[\0\u200b\u2028\u2029]")
_QUOTES = str.maketrans(dict.fromkeys("\u201c\u201d\u201e\u201f\u00ab\u00bb", '"') | {"\u2019": "'"})
_SEPARATORS = re.compile(r"(?<!\d),|,(?!\d)|[;|=<>{}\[\]!?*&~^\\…—–]{1,99}|\.{2,99}")
_POSSESSIVE = re.compile(r"'s?$", re.IGNORECASE)
_URL = re.compile(r"(?:https?://|www\.)\S{1,400}", re.IGNORECASE)
_SCHEME = re.compile(r"^[a-z]{1,9}://", re.IGNORECASE)
_OPERATOR_LIKE = re.compile(r"([A-Za-z]{2,12}):(.{1,400})")
_DATE = re.compile(r"(\d{4})(?:[-/.](\d{1,2})(?:[-/.](\d{1,2}))?)?")
_DAY_FIRST = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})")


class QueryWords(NamedTuple):
    """Text that is wanted; in this order and together where it was quoted or is one chunk."""

    text: str
    quoted: bool = False
    required: bool = False  # by `+` or AND: never given up where nothing is found


class Restriction(NamedTuple):
    """`field:value`."""

    field: str
    value: str


class Not(NamedTuple):
    part: Part


class All(NamedTuple):
    parts: tuple[Part, ...]


class Either(NamedTuple):
    parts: tuple[Part, ...]


class AtLeast(NamedTuple):
    """This number of the parts, or more. No text has it; `relaxation` makes it."""

    least: int
    parts: tuple[Part, ...]


class Optional(NamedTuple):
    """Need not occur, but makes a page better. No text has it; `relaxation` makes it."""

    part: Part


Part: TypeAlias = QueryWords | Restriction | Not | All | Either | AtLeast | Optional


def normalised(text: str) -> str:
    """Composed letters, plain quotation marks, nothing invisible."""
    if text.isascii():
        return text.replace("\0", " ")
    visible = _INVISIBLE.sub("", _BLANKS.sub(" ", unicodedata.normalize("NFC", text)))
    return visible.translate(_QUOTES)


def has_letters(text: str) -> bool:
    """Has a letter or a digit: anything else cannot be searched for."""
    return any(map(str.isalnum, text))


def signed_names(text: str) -> list[str]:
    """`C++` in a text -> cplusplus, one for each time that such a name occurs."""
    lower = text.lower()
    if not any(sign in lower for sign in _SIGNS):  # most texts; the expression costs fifty times as much
        return []
    return [_SIGNED_NAMES[match.lower()] for match in _SIGNED.findall(text)]


def is_option(word: str, before: str | None) -> bool:
    """Whether `-word` is an option of a command and not an exclusion.

    It is where a number or a second dash follows; after a command whose options may be long; and after any
    lower-case word where it is one or two characters long or has a capital letter: `pg_dump -Fc`.
    """
    if word.startswith("-") or word[0].isdigit():
        return True
    if before is None or not _COMMAND_LIKE.fullmatch(before):
        return False
    return before in _COMMANDS or "_" in before or _OPTION_LIKE.fullmatch(word) is not None


def parts_of_phrase(field: str, phrase: str, remarks: list[str]) -> list[Part]:
    value = " ".join(phrase.split())
    if not has_letters(value):
        return []
    name = _ALIASES.get(field, field)
    if name in FIELDS:
        return _restricted(name, value, remarks)
    if field:
        remarks.append(_unknown(field))
        return [QueryWords(field), QueryWords(value, quoted=True)]
    return [QueryWords(value, quoted=True)]


def parts_of_word(chunk: str, remarks: list[str] | None = None) -> list[Part]:
    """The parts of a query in one chunk; empty if it has no letter or digit."""
    remarks = [] if remarks is None else remarks
    if _URL.fullmatch(chunk):
        return _address(chunk)
    if found := _OPERATOR_LIKE.fullmatch(chunk):
        written = found[1].lower()
        name = _ALIASES.get(written, written)
        if name in FIELDS:
            return _restricted(name, found[2], remarks)
        if found[1].islower() and found[2][0].isalnum():
            remarks.append(_unknown(written))
    pieces = [piece for piece in _SEPARATORS.split(chunk) if has_letters(piece)]
    return [QueryWords(text[:WORD_CHARACTERS_MAX]) for piece in pieces if (text := _bare(piece))]


def _unknown(name: str) -> str:
    return f'"{name}:" is not an operator; it was searched as words'


def _bare(piece: str) -> str:
    """The word without what surrounds it: `(foo).` -> foo, `Python's` -> Python, `C++` -> cplusplus."""
    signed = _SIGNED.fullmatch(piece.rstrip(".,:;'\""))
    if signed:
        return _SIGNED_NAMES[signed[0].lower()]
    start, end = 0, len(piece)
    while start < end and not _is_inside(piece[start]):
        start += 1
    while end > start and not _is_inside(piece[end - 1]):
        end -= 1
    return _POSSESSIVE.sub("", piece[start:end])


def _is_inside(character: str) -> bool:
    """A letter, a digit, a mark of either, or the underscore of a name in code."""
    return character.isalnum() or character == "_" or unicodedata.category(character)[0] == "M"


def _address(url: str) -> list[Part]:
    """A pasted URL: the page that has it, and pages that mention it."""
    rest = _SCHEME.sub("", url).partition("#")[0].strip("/.,;:!?'")
    if not has_letters(rest):
        return []
    where = Restriction("inurl", rest[: WORD_CHARACTERS_MAX * 4])
    return [Either((where, QueryWords(rest[: WORD_CHARACTERS_MAX * 4], quoted=True)))]


def _restricted(field: str, value: str, remarks: list[str]) -> list[Part]:
    value = value[: WORD_CHARACTERS_MAX * 4]
    if field in ("after", "before") and seconds_at(value) is None:
        remarks.append(
            f'"{field}:" needs a date such as 2024, 2024-06 or 2024-06-15; it was searched as words'
        )
        return [QueryWords(value)] if has_letters(value) else []
    if field == "site":
        return _site(value)
    if field == "lang":
        value = value.lower().partition("-")[0].partition("_")[0]
    elif field == "filetype":
        value = value.lower().lstrip(".")
    return [Restriction(field, value)] if has_letters(value) else []


def _site(value: str) -> list[Part]:
    """With or without scheme, port and path; `*.` before a domain changes nothing."""
    host, _, path = _SCHEME.sub("", value.lower()).partition("/")
    found: list[Part] = [Restriction("site", host.removeprefix("*.").strip(".").rpartition("@")[2])]
    if has_letters(path):
        found.append(Restriction("inurl", path))
    return found


def seconds_at(value: str) -> int | None:
    """`2024`, `2024-05`, `2024-05-01`, `2024/05/01` or `1.5.2024` -> its first second, in UTC."""
    numbers: Sequence[str | None]
    if match := _DATE.fullmatch(value):
        numbers = match.groups()
    elif match := _DAY_FIRST.fullmatch(value):
        numbers = match.groups()[::-1]
    else:
        return None
    try:
        year, month, day = (int(number or 1) for number in numbers)
        return int(datetime(year, month, day, tzinfo=UTC).timestamp())
    except ValueError:
        return None
