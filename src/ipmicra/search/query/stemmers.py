"""The language of a page -> the stemmer that cuts its words, the same for every engine. Pure."""

from __future__ import annotations

STEMMED = {
    "ar": "arabic", "da": "danish", "nl": "dutch", "en": "english", "fi": "finnish", "fr": "french",
    "de": "german", "el": "greek", "hu": "hungarian", "it": "italian", "no": "norwegian", "nb": "norwegian",
    "pt": "portuguese", "ro": "romanian", "ru": "russian", "es": "spanish", "sv": "swedish", "ta": "tamil",
    "tr": "turkish",
}  # fmt: skip
PLAIN = "plain"  # of pages whose language has no stemmer
STEMMERS = (PLAIN, *sorted(set(STEMMED.values())))


def stemmer_of(language: str) -> str:
    return STEMMED.get(language, PLAIN)
