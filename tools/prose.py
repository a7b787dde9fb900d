"""Finds words that are banned from code and documentation; `make lint` runs it."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parent.parent

BANNED: Final = (
    "anew",
    "are told",
    "beside",
    "besides",
    "by its side",
    "heard",
    "hence",
    "is content",
    "is told",
    "lie about",
    "lies",
    "meanwhile",
    "mend",
    "mended",
    "mends",
    "nobody",
    "of late",
    "of ours",
    "see to it",
    "sees to it",
    "somebody",
    "spelt",
    "thereof",
    "thus",
    "what is much",
    "whence",
    "whoever",
    "whosoever",
)
"""Words and phrases that a reader has to translate. Whole words, in any case, across line breaks."""

PATTERNS: Final = (
    *(f"src/**/*.{kind}" for kind in ("py", "java", "js", "html")),
    *(f"examples/**/*.{kind}" for kind in ("py", "ipynb")),
    "tests/**/*.py",
    "docs/*.md",
)

_LEFT_OUT: Final = ("uplot.js", "test_prose.py")

_PATTERN: Final = re.compile(
    r"\b(?:" + "|".join(r"[\s#*/]+".join(phrase.split()) for phrase in BANNED) + r")\b", re.IGNORECASE
)


class Finding(NamedTuple):
    """A banned phrase, and where it is."""

    path: Path
    line: int
    phrase: str


def find_banned(text: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the phrase of each banned phrase.

    >>> list(find_banned("Nobody waits.\\n# What they told is content\\n# of ours."))
    [(1, 'nobody'), (2, 'is content'), (3, 'of ours')]
    """
    for match in _PATTERN.finditer(text):
        phrase = " ".join(re.split(r"[\s#*/]+", match[0])).lower()
        yield text.count("\n", 0, match.start()) + 1, phrase


def checked_files(root: Path = ROOT) -> Iterator[Path]:
    """Yield the files that the check reads: sources, examples, tests, documentation, README and changelog.

    Not the chart library, which others have written, nor the tests of this check, which quote the words.
    """
    for pattern in PATTERNS:
        yield from sorted(path for path in root.glob(pattern) if path.name not in _LEFT_OUT)
    for name in ("ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "README.md", "Makefile"):
        yield root / name


def check(paths: Iterable[Path]) -> list[Finding]:
    """Return every banned phrase in the files."""
    return [
        Finding(path, line, phrase)
        for path in paths
        for line, phrase in find_banned(path.read_text(encoding="utf-8"))
    ]


def main() -> int:
    """Print the findings as `file:line: phrase`; return 1 if there are any."""
    findings = check(checked_files())
    for path, line, phrase in findings:
        print(f"{path.relative_to(ROOT)}:{line}: {phrase!r} is banned; see BANNED in tools/prose.py")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
