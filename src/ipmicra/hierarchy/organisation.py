"""The registries' facts about a holder -> the number of its organisation.

The rules of identity:

1. A record with a handle belongs to that handle of that registry (letters' case does not matter).
   Handles of two registries are never joined, nor are two handles with the same name.
2. A record without a handle belongs to its normalised name, in any registry.
3. A record with neither has no organisation (`UNKNOWN`).

A normalised name has no case, accents, punctuation or legal form (Ltd, GmbH, S.A. ...).
"""

from __future__ import annotations

import unicodedata

UNKNOWN = -1

# Written without dots and spaces: "S. p. A.", "S.p.A." and "SpA" are all "spa".
_LEGAL_FORMS = """
ab ag aps as asa bhd bv bvba co company corp corporation cv doo ead eg ehf eirl eood eurl ev fze
gesmbh ggmbh gie gmbh hf inc incorporated jsc kft kg kgaa kk limited limitada llc llp lp ltd ltda
mbh nv nyrt oao ohg ojsc ood ooo oy oyj pao pjsc plc pte pty pvt private sa sab sac sadecv sarl sas
sasu sdn se sia sl slu snc spa spj spk spolsro spzoo srl sro sti uab ug vof zao zrt
"""
# Those that stand before the name: "OOO Romashka", "PT Telekomunikasi".
_LEADING_FORMS = "ao cjsc cv jsc oao ojsc ooo pao pjsc pt sia uab zao"
LEGAL_FORMS = frozenset(_LEGAL_FORMS.split())
LEADING_FORMS = frozenset(_LEADING_FORMS.split())
WORDS_OF_A_FORM_MAX = 4
# How a form may end: most names end otherwise, and are done with one look.
FORM_ENDS = frozenset(form[place:] for form in LEGAL_FORMS for place in range(len(form)))


class _Letters(dict[int, str | None]):
    """A letter -> what stays of it in a normalised name, worked out once for each different letter."""

    def __missing__(self, code: int) -> str | None:
        letter = chr(code)
        if letter.isalnum():
            kept: str | None = letter
        else:
            kept = None if letter in ".'’`" or unicodedata.combining(letter) else " "
        self[code] = kept
        return kept


_LETTERS = _Letters()


def normalised_name(name: str) -> str:
    """The name without case, accents, punctuation and legal forms; "" where no letter is left."""
    words = _words(name)
    while len(words) > 1 and (length := _form_length(words)):
        words = words[:-length]
    while len(words) > 1 and words[0] in LEADING_FORMS:
        words = words[1:]
    return " ".join(words)


def _words(name: str) -> list[str]:
    """Letters and digits, case and accents gone; dots and apostrophes join, all else divides."""
    plain = name.casefold()
    if not plain.isascii():
        plain = unicodedata.normalize("NFKD", plain)
    return plain.translate(_LETTERS).split()


def _form_length(words: list[str]) -> int:
    """How many of the last words make a legal form, the longest that leaves a word; 0 for none."""
    form, found = "", 0
    for length in range(1, min(WORDS_OF_A_FORM_MAX + 1, len(words))):
        form = words[-length] + form
        if form not in FORM_ENDS:
            break
        if form in LEGAL_FORMS:
            found = length
    return found


class Organisations:
    """Organisations numbered in the order in which they were first seen, from 0."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self.registries: list[str] = []
        self.handles: list[str] = []
        self.names: list[str] = []

    def number(self, registry: str, handle: str, name: str) -> int:
        """Whose this record is. The first name that is not blank stays the organisation's name."""
        key = identity(registry, handle, name)
        if not key:
            return UNKNOWN
        number = self._numbers.setdefault(key, len(self.names))
        if number == len(self.names):
            self.registries.append(registry)
            self.handles.append(handle)
            self.names.append(name)
        elif name and not self.names[number]:
            self.names[number] = name
        return number

    def __len__(self) -> int:
        return len(self.names)


def identity(registry: str, handle: str, name: str) -> str:
    """The text that is equal for records of the same organisation; blank if there is none."""
    if handle:
        return f"handle:{registry.casefold()}:{handle.casefold()}"
    normalised = normalised_name(name)
    return f"name:{normalised}" if normalised else ""
