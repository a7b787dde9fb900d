"""Tokenizers of text columns: one implementation for the index, for queries and for words that are tested on rows.

The name of a tokenizer in a mapping says all that it does, with a number, so that a change of its rules is a new name:

    words      runs of letters and digits, in lower case
    words2     the same, and each character of Chinese, Japanese and Thai is a word of its own, so that any run of them
               is found as a phrase
    whitespace1, code1, ngram<n>_1, <language>_stem1
    words2 stop:en fold max:100     with stop words, letters without accents, and no words of more than 100 bytes

The index stores no text, so that text can be prepared before it is indexed. `words2` puts spaces around those
characters, only in columns that have any; the engine does the rest. Other tokenizers give the engine their words,
joined by spaces. A word that is dropped leaves a gap, so that the others keep their positions.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import tantivy

from indextables.runtime import lazy_property
from indextables.schema import STEMMERS, Recipe, parse_recipe
from indextables.split.index.string_values import rows_with, strings

_SINGLE: Final = (
    "\u0e01-\u0e5b\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3038-\u303c\u3041-\u30ff\u31f0-\u31ff\u3400-\u4dbf"
    "\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
"""The characters that are words of their own: Thai, Hiragana, Katakana and Han."""

_SINGLE_CHARACTER: Final = re.compile(f"[{_SINGLE}]")
_SINGLE_IN_ARROW: Final = f"([{_SINGLE}])"
_LEAD_BYTE: Final = 0xE0
"""The first byte of these characters in UTF-8 is at least this."""

_PUNCTUATION_BYTE: Final = 0xE2
"""The first byte of U+2000 to U+2FFF: dashes, quotes, arrows and other signs."""

_GAP: Final = "\u2400"
"""Stands for a word that was dropped: no tokenizer makes such a word, as it is neither letter nor digit."""


@dataclass(frozen=True)
class TextTokenizer:
    """A tokenizer by the recipe of its name."""

    recipe: Recipe

    def words(self, text: str) -> list[str | None]:
        """Return the words at each position; None is a word that was dropped."""
        words = self._words(text)
        if self.recipe.grams:
            return [gram for word in words for gram in _grams(word, self.recipe.grams)]
        return words

    def words_of_each(self, text: str) -> list[list[str | None]]:
        """Return the words that each run of characters becomes: one, or its overlapping parts."""
        size = self.recipe.grams
        return [_grams(word, size) if size else [word] for word in self._words(text)]

    def _words(self, text: str) -> list[str | None]:
        recipe = self.recipe
        if recipe.base == "whitespace1":
            whole = text.split()
            final: list[str] = [_fold_analyzer().analyze(word)[0] for word in whole] if recipe.fold else whole
        else:
            prepared = self.separate(text)
            whole = _lower_analyzer().analyze(prepared)
            final = self._analyzer.analyze(prepared)
        return [None if self._drops(word) else changed for word, changed in zip(whole, final, strict=True)]

    def tokens(self, text: str) -> tuple[tuple[int, str], ...]:
        """Return the words of a text with their positions."""
        return tuple((at, word) for at, word in enumerate(self.words(text)) if word is not None)

    def prepare(self, values: pa.Array) -> pa.Array:
        """Return the texts as the engine gets them. Those with bytes that are not UTF-8 may be as they were."""
        recipe = self.recipe
        if recipe.is_plain and recipe.base == "words":
            return values
        if recipe.is_plain and recipe.base == "words2":
            return _space_out(values)
        prepared = [
            None if text is None else " ".join(_GAP if word is None else word for word in self.words(text))
            for text in strings(values)
        ]
        return pa.array(prepared, values.type)

    def character(self, character: str) -> str:
        """Return a character as words have it; empty if it separates words."""
        if self.recipe.base == "whitespace1":
            return "" if character.isspace() else "".join(filter(None, self.words(character)))
        lower = "".join(_lower_analyzer().analyze(character))
        return "".join(_fold_analyzer().analyze(lower)) if self.recipe.fold and lower else lower

    def is_single(self, character: str) -> bool:
        """Return True for a character that is a word of its own."""
        return self.recipe.base == "words2" and _SINGLE_CHARACTER.fullmatch(character) is not None

    @property
    def index_analyzer(self) -> tantivy.TextAnalyzer:
        """The engine's tokenizer for texts that `prepare` returns."""
        if self.recipe.is_plain and self.recipe.base in ("words", "words2"):
            return _lower_analyzer()
        builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace())
        return builder.filter(tantivy.Filter.custom_stopword([_GAP])).build()

    @lazy_property
    def display_analyzer(self) -> tantivy.TextAnalyzer:
        """The engine's tokenizer for texts as they are, which finds the words of a snippet."""
        match self.recipe.base:
            case "words2":
                pattern = f"[{_SINGLE}]|(?:[^\\W_](?:[^\\W_{_SINGLE}])*)"
                return self._filters(tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.regex(pattern)))
            case "whitespace1":
                return tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build()
            case _:
                return self._analyzer

    @lazy_property
    def _analyzer(self) -> tantivy.TextAnalyzer:
        return self._filters(tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple()))

    def _filters(self, builder: tantivy.TextAnalyzerBuilder) -> tantivy.TextAnalyzer:
        builder = builder.filter(tantivy.Filter.lowercase())
        if self.recipe.fold:
            builder = builder.filter(tantivy.Filter.ascii_fold())
        if self.recipe.language:
            builder = builder.filter(tantivy.Filter.stemmer(STEMMERS[self.recipe.language]))
        return builder.build()

    def separate(self, text: str) -> str:
        """Return the text with spaces between words that no character separates."""
        if self.recipe.base == "words2":
            return _SINGLE_CHARACTER.sub(r" \g<0> ", text)
        return _split_identifiers(text) if self.recipe.base == "code1" else text

    def _drops(self, word: str) -> bool:
        recipe = self.recipe
        if recipe.longest is not None and len(word.encode()) > recipe.longest:
            return True
        return word in recipe.stop_words or (
            bool(recipe.stop_language) and _is_stop(word, recipe.stop_language)
        )


@lru_cache(maxsize=256)
def tokenizer(name: str) -> TextTokenizer:
    """Return the tokenizer of a name in a mapping. ValueError if this release does not have it."""
    return TextTokenizer(parse_recipe(name))


@cache
def as_written() -> tantivy.TextAnalyzer:
    """Return the engine's tokenizer that leaves words as they are written."""
    return tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple()).build()


@cache
def _lower_analyzer() -> tantivy.TextAnalyzer:
    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
    return builder.filter(tantivy.Filter.lowercase()).build()


@cache
def _fold_analyzer() -> tantivy.TextAnalyzer:
    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.raw())
    return builder.filter(tantivy.Filter.ascii_fold()).build()


@lru_cache(maxsize=65536)
def _is_stop(word: str, language: str) -> bool:
    return not _stop_analyzer(language).analyze(word)


@cache
def _stop_analyzer(language: str) -> tantivy.TextAnalyzer:
    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.raw())
    return builder.filter(tantivy.Filter.stopword(STEMMERS[language])).build()


def _grams(word: str | None, size: int) -> list[str | None]:
    """Return the overlapping runs of that many characters; a shorter word is one."""
    if word is None or len(word) <= size:
        return [word]
    return [word[at : at + size] for at in range(len(word) - size + 1)]


def _split_identifiers(text: str) -> str:
    """Put a space where an identifier has a hump: `parseHTTPHeader2` becomes `parse HTTP Header 2`.

    >>> _split_identifiers("parseHTTPHeader2 org.apache.Spark")
    'parse HTTP Header 2 org.apache.Spark'
    """
    parts: list[str] = []
    for at, character in enumerate(text):
        before = text[at - 1] if at else " "
        after = text[at + 1] if at + 1 < len(text) else " "
        hump = character.isupper() and (before.islower() or (before.isupper() and after.islower()))
        digits = before.isalnum() and character.isalnum() and before.isdigit() != character.isdigit()
        if hump or digits:
            parts.append(" ")
        parts.append(character)
    return "".join(parts)


def _space_out(values: pa.Array) -> pa.Array:
    """Put spaces around single characters. Texts without any are not touched."""
    rows = rows_with(values, _begins_single)
    if not len(rows):
        return values
    some = values.take(pa.array(rows))
    try:
        some.validate(full=True)
        spaced = pc.replace_substring_regex(some, pattern=_SINGLE_IN_ARROW, replacement=r" \1 ")
    except pa.ArrowInvalid:  # bytes that are not UTF-8
        spaced = pa.array([_SINGLE_CHARACTER.sub(r" \g<0> ", text) for text in strings(some)], some.type)
    mask = np.zeros(len(values), np.bool_)
    mask[rows] = True
    return pc.replace_with_mask(values, mask, spaced)


def _begins_single(data: npt.NDArray[np.uint8]) -> npt.NDArray[np.bool_]:
    """Return the bytes that may begin a single character in UTF-8. Punctuation, U+20xx, begins with another."""
    return np.asarray((data >= _LEAD_BYTE) & (data != _PUNCTUATION_BYTE), np.bool_)
