"""The names of tokenizers: as users write them, and as a mapping records them.

A recorded name says all that the tokenizer does (see `split.index.tokenizers`). Its parts are the rules with a number,
and then, in this order, `stop:<language>` or `stop:<word>,<word>`, `fold2` and `max:<bytes>`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

STEMMERS: Final = {
    "ar": "arabic",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "es": "spanish",
    "fi": "finnish",
    "fr": "french",
    "hu": "hungarian",
    "it": "italian",
    "nl": "dutch",
    "no": "norwegian",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
}
"""The languages that have a stemmer, and the engine's name of each."""

STOP_LANGUAGES: Final = frozenset(
    {"da", "de", "en", "es", "fi", "fr", "hu", "it", "nl", "no", "pt", "ru", "sv"}
)

TOKENIZER: Final = "words2"
"""The tokenizer of new text columns: words of letters and digits, and single characters of Chinese, Japanese, Thai."""

WORDS_TOKENIZER: Final = "words"
"""The same without the single characters: `simple`, and the tokenizer of splits written before `words2`."""

CUTTING_TOKENIZER: Final = "default"
"""The tokenizer of splits written before `words`: the same, but it drops words of 40 bytes and more."""

_BASES: Final = {
    "default": TOKENIZER,
    "simple": WORDS_TOKENIZER,
    "whitespace": "whitespace1",
    "code": "code1",
    "ngram": "ngram3_2",
    **{f"ngram{size}": f"ngram{size}_2" for size in range(2, 6)},
    **{f"{language}_stem": f"{language}_stem1" for language in STEMMERS},
}
"""The tokenizers that a user can name, and what a mapping calls them today."""

_EARLIER: Final = {f"ngram{size}_1": f"ngram{size}_2" for size in range(2, 6)} | {"fold": "fold2"}
"""Rules of tables that exist, and the rules that took their place."""

_GRAMS: Final = re.compile(r"ngram([2-5])_([12])")
_STEM: Final = re.compile(r"([a-z]{2})_stem1")
_WORD: Final = re.compile(r"[^\W_]+")


@dataclass(frozen=True)
class Recipe:
    """What a tokenizer does. `longest` is in bytes; `grams` is the length of the runs of characters, 0 for words.

    With `apart`, there is a position between the runs of one word and of the next. With `folds_dots`, letters without
    accents include the capital i with a dot.
    """

    base: str
    language: str = ""
    grams: int = 0
    stop_language: str = ""
    stop_words: frozenset[str] = frozenset()
    fold: bool = False
    longest: int | None = None
    apart: bool = False
    folds_dots: bool = False

    @property
    def is_plain(self) -> bool:
        """True for a tokenizer without options."""
        return not (self.stop_language or self.stop_words or self.fold or self.longest)


@lru_cache(maxsize=256)
def parse_recipe(name: str) -> Recipe:
    """Return what a recorded name says. ValueError if this release does not know all of it.

    >>> parse_recipe("en_stem1 stop:en max:100").longest
    100
    """
    base, *options = name.split(" ")
    grams, stem = _GRAMS.fullmatch(base), _STEM.fullmatch(base)
    if todays_name(base) not in _BASES.values():
        raise ValueError(f"unknown tokenizer {base!r}")
    stop, fold, longest = "", "", None
    for option in options:
        if option.startswith("stop:") and not stop:
            stop = option.removeprefix("stop:")
        elif option in ("fold", "fold2") and not fold:
            fold = option
        elif option.startswith("max:") and longest is None and option[4:].isdecimal() and int(option[4:]):
            longest = int(option[4:])
        else:
            raise ValueError(f"unknown tokenizer option {option!r}")
    return Recipe(
        base,
        language=stem[1] if stem else "",
        grams=int(grams[1]) if grams else 0,
        stop_language=stop if stop in STOP_LANGUAGES else "",
        stop_words=frozenset() if stop in STOP_LANGUAGES or not stop else frozenset(stop.split(",")),
        fold=bool(fold),
        longest=longest,
        apart=grams is not None and grams[2] != "1",
        folds_dots=fold == "fold2",
    )


def todays_name(name: str) -> str:
    """Return the name with the rules of this release, to compare tokenizers of tables of different ages.

    >>> todays_name("ngram3_1 fold")
    'ngram3_2 fold2'
    """
    return " ".join(_EARLIER.get(part, part) for part in name.split(" "))


def recorded_name(
    given: str = "default", stop: str = "", *, fold: bool = False, longest: int | None = None
) -> str:
    """Return the name that a mapping records for what a user writes. ValueError says what is expected.

    >>> recorded_name("en_stem", stop="en")
    'en_stem1 stop:en'
    """
    base = _BASES.get(given.strip().lower())
    if base is None:
        raise ValueError(f"{given!r} is not a tokenizer: it takes raw, {', '.join(_BASES)}")
    parts = [base]
    if stop.strip():
        words = [word.strip().lower() for word in stop.split(",") if word.strip()]
        if len(words) == 1 and words[0] in STEMMERS:
            if words[0] not in STOP_LANGUAGES:
                raise ValueError(f"there are no stop words of {words[0]!r}: list the words")
        elif not words or not all(map(_WORD.fullmatch, words)):
            raise ValueError(f"{stop!r} is neither a language such as en nor words of letters and digits")
        parts.append(f"stop:{','.join(sorted(set(words)))}")
    parts += ["fold2"] if fold else []
    parts += [] if longest is None else [f"max:{longest}"]
    return " ".join(parts)
