"""The declared language of a page, or else its text -> its language as a primary subtag ("en", "de",
"zh").
"""

from __future__ import annotations

import re

from turbohtml.detect import LanguageDetection, detect_language

_SUBTAG = re.compile(r"\s*([A-Za-z]{2,3})(?:[-_]|\s|,|$)")
_SAMPLE_CHARACTERS = 300  # the detector's time grows with the sample, its certainty hardly
FOLDERS_REMEMBERED_MAX = 4_096
_SAMPLE_CHARACTERS_MIN = 40  # shorter texts are guessed wrong too often
_SURE_ENOUGH = LanguageDetection(threshold=0.5)

# ISO 639-3 as the detector names them -> the shorter tag of BCP 47. What is missing here stays as it is.
_PAIRS = """
    eng:en deu:de fra:fr spa:es por:pt ita:it nld:nl pol:pl rus:ru ukr:uk ces:cs slk:sk slv:sl
    hrv:hr srp:sr bul:bg ron:ro hun:hu ell:el tur:tr swe:sv dan:da nob:no nno:no fin:fi est:et
    lav:lv lit:lt cat:ca cmn:zh jpn:ja kor:ko ara:ar heb:he pes:fa hin:hi ben:bn tam:ta tel:te
    tha:th vie:vi ind:id zsm:ms epo:eo lat:la afr:af urd:ur mar:mr kat:ka hye:hy aze:az kaz:kk
    uzb:uz mkd:mk bel:be mya:my
"""
_SHORT = dict(pair.split(":") for pair in _PAIRS.split())


def language_of(declared: str, text: str, usual: UsualLanguages | None = None, url: str = "") -> str:
    """The declared language where there is one; else what the text looks like; "" where unsure."""
    subtag = _SUBTAG.match(declared) if declared else None
    if subtag:
        return subtag[1].lower()
    sample = text[:_SAMPLE_CHARACTERS]
    if len(sample) < _SAMPLE_CHARACTERS_MIN:
        return ""
    return judged(sample) if usual is None else usual.language_of(url, sample)


def judged(sample: str) -> str:
    """The detected language of the text; "" if unsure."""
    found = detect_language(sample, _SURE_ENOUGH).language or ""
    return _SHORT.get(found, found)


class UsualLanguages:
    """The languages of each folder's pages, so that not every page need be analysed.

    Detection costs up to a fifth of parsing. After a run of pages in one language, only a sample of the
    folder's pages is analysed; a different result starts the count again.
    """

    def __init__(self, in_a_row: int = 16, every: int = 8) -> None:
        self._in_a_row, self._every = in_a_row, every
        self._folders: dict[str, tuple[str, int]] = {}  # what the last one was, how many in a row

    def language_of(self, url: str, sample: str) -> str:
        folder = url[: url.rfind("/")]
        usual, alike = self._folders.get(folder, ("", 0))
        if alike < self._in_a_row or alike % self._every == 0:
            found = judged(sample)
            usual, alike = found, alike if found == usual else 0
        self._remember(folder, usual, alike + 1)
        return usual

    def _remember(self, folder: str, language: str, alike: int) -> None:
        if folder not in self._folders and len(self._folders) >= FOLDERS_REMEMBERED_MAX:
            self._folders.clear()
        self._folders[folder] = (language, alike)
