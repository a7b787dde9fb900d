"""The words of a text with their places in it, as characters, for snippets and for choosing words of a text."""

from __future__ import annotations

from typing import NamedTuple

from indextables.split.index.tokenizers import as_written, tokenizer


class PlacedWord(NamedTuple):
    """A word as the index has it, its position among the words, and the characters that it stands for."""

    position: int
    word: str
    start: int
    end: int


def placed_words(text: str, name: str) -> list[PlacedWord]:
    """Return the words of a text, as the tokenizer of that name makes them, with their places.

    >>> [(word.word, word.start, word.end) for word in placed_words("parseHTTPHeader, twice", "code1")]
    [('parse', 0, 5), ('http', 5, 9), ('header', 9, 15), ('twice', 17, 22)]
    """
    used = tokenizer(name)
    is_plain = used.recipe.base == "whitespace1"
    written_words = text.split() if is_plain else as_written().analyze(used.separate(text))
    words: list[PlacedWord] = []
    at = position = 0
    # The characters before the next word are none of words: the first place where its text stands is its own.
    for written, grams in zip(written_words, used.words_of_each(text), strict=True):
        position += used.gap
        start = text.index(written, at)
        at = start + len(written)
        whole = sum(map(len, filter(None, grams[:1]))) + len(grams) - 1
        for number, word in enumerate(grams):
            if word is None:
                continue
            if len(grams) == 1 or whole != len(written):  # lower-casing can change the number of characters
                words.append(PlacedWord(position + number, word, start, at))
            else:
                words.append(PlacedWord(position + number, word, start + number, start + number + len(word)))
        position += len(grams)
    return words
