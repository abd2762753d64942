"""Words of a question -> those that only hold the sentence together, by the language that it is asked in.

Invariant: pure, and never all of the words: a question of nothing but such words asks for them ("to be or
not to be"). The language is the one whose list has most of the words; English first where several have.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

_LISTS = {
    "en": (
        "a about am an and any are as at be been being but by can could did do does doing don't for from "
        "had has have having he her here him his how i i'd i'm i've if in into is it it's its just may me "
        "might my no nor not of off on onto or our please should so some such than that the their them "
        "then there these they this those to too us use using vs versus very was we were what when where "
        "which while who whom whose why will with would you your without between"
    ),
    "de": (
        "aber als am an auch auf aus bei beim bin bis das dass dem den denn der des die dies diese dieser "
        "doch du durch ein eine einem einen einer eines er es für hat haben ich ihr im in ist kann man "
        "mein mit nach nicht noch nur ob oder ohne sein sich sie sind so über um und uns unter vom von "
        "vor wann warum was welche wenn wer wie wird wir wird wo zu zum zur zwischen"
    ),
    "fr": (
        "à au aux avec ce ces cette comment d'un d'une dans de des dois du elle en est et être faire il "
        "ils j'ai je l'on la le les leur lui mais me mes mon ne nous on ou où par pas peut plus pour "
        "pourquoi qu'est-ce quand que quel quelle qui sa sans se ses si son sont sur ta te tu un une vous "
        "y"
    ),
    "es": (
        "a al ante como cómo con cuál cuando cuándo de del desde donde dónde e el él ella en entre es "
        "esta este está están hacer hay la las le les lo los mas más me mi mis muy no nos o para pero por "
        "porque puede puedo que qué quien quién se ser si sin sobre son su sus te tu un una uno y ya yo"
    ),
    "it": (
        "a ad ai al alla alle anche che chi ci come con cosa da dal dalla dei del della delle di dove e è "
        "ed gli ha ho i il in io la le lo ma mi ne nel nella non o per perché più posso quale quando "
        "quanto se senza si sono su sul sulla tra un una uno"
    ),
    "pt": (
        "a ao aos as até com como da das de do dos e é ela ele em entre eu foi fazer há isso mais mas me "
        "meu na não nas no nos o onde os ou para pela pelo por porque posso qual quando que quem se sem "
        "ser são sobre sua seu um uma"
    ),
    "nl": (
        "aan als bij dan dat de der deze die dit door een en er het hoe hun ik in is je kan maar me met "
        "mijn naar niet nog of om onder ook op over te tot tussen uit van veel voor waar waarom wanneer "
        "was wat welke wel wie wij wordt zijn zo zonder"
    ),
    "sv": (
        "att av den det dem denna detta de du eller en ett från för får gör ha har hur i in inte jag kan "
        "kommer man med mellan men mig min mitt nu när och om på sig sin som så till under upp ut utan "
        "vad var varför vi vid vilka är"
    ),
    "da": (
        "af at de dem den der det dette du eller en er et for fra få gør ham har hun hvad hvem hvor "
        "hvordan hvorfor hvornår i ikke ind jeg kan man med mellem men mig min nu når og om op på sig som "
        "så til ud uden under var ved vi"
    ),
    "no": (
        "at av de dem den der det dette du eller en er et for fra få gjør ham har hun hva hvem hvor "
        "hvordan hvorfor når i ikke inn jeg kan man med mellom men meg min nå og om opp på seg som så til "
        "ut uten under var ved vi"
    ),
    "fi": (
        "että ei en he hän ja jos joka jotka kanssa koska kuin kuinka kun me mikä miksi milloin minä "
        "missä miten mitä mutta myös ne niin nyt ole oli on ovat saa se sekä sen sinä tai tämä vain voi "
        "voiko voin"
    ),
    "ru": (
        "а без бы в во вот все вы где да для до его ее если есть еще же за и из или им их к как какая "
        "какой ко когда кто ли между меня мне мой мы на не нет но о об он она они от по почему при с со "
        "так такое то только ты у уже что чтобы это я"
    ),
    "tr": ("bir bu da de için ile ise gibi mı mi mu mü ne nasıl neden nedir nė o şu ve veya ya"),
    "el": (
        "από για γιατί δεν είναι ένα ένας και με μια να ο οι όταν πού πως πώς σε στη στην στο στον τα τη "
        "την της τι το του των"
    ),
    "hu": ("a az egy és hogy hogyan is ez ha hol kell lehet meg mi miért mit mikor nem van vagy"),
    "ro": (
        "a al ale ca care ce când cu cum de din după este în la mai nu o pe pentru prin sau se și sunt un "
        "unde"
    ),
    "pl": (
        "a ale co czy dla do gdzie i jak jaki jest kiedy lub na nie o od po przez się są to w z za ze że"
    ),
    "cs": ("a ale co jak je jaký kde kdy na nebo o od po pro proč s se si v za že z do"),
}
_STOP_WORDS = {language: frozenset(words.split()) for language, words in _LISTS.items()}
_LANGUAGES_OF = {  # of each stop word, in the order of the lists
    word: [language for language, stops in _STOP_WORDS.items() if word in stops]
    for word in frozenset().union(*_STOP_WORDS.values())
}


def language_of_query(words: Sequence[str]) -> str:
    """The language whose stop words occur most; "" where none occurs."""
    counts = Counter([code for word in words for code in _LANGUAGES_OF.get(word.lower(), ())])
    if not counts:
        return ""
    most = max(counts.values())
    best = next(code for code in _STOP_WORDS if counts[code] == most)  # the first of equals: English
    enough = 1 if best == "en" or len(words) < 4 else 2  # one short word is in many languages
    return best if counts[best] >= enough and any(len(word) > 1 for word in words) else ""


def stop_words_in(words: Sequence[str]) -> frozenset[str]:
    """Of the words, as written, those that need not occur. Empty where all are such words."""
    language = language_of_query(words)
    if not language:
        return frozenset()
    stops = _STOP_WORDS[language]
    found = frozenset(word for word in words if word.lower() in stops and not _is_name(word))
    return frozenset() if found.issuperset(words) else found


def _is_name(word: str) -> bool:
    """`IT` and `WHO` are not the pronouns."""
    return len(word) > 1 and word.isupper()
