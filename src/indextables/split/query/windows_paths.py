r"""Windows paths in a query as they are pasted: every backslash in them is itself.

Elsewhere a backslash escapes a character of the syntax, and `\\` is a backslash. A text with escapes has each backslash
doubled, and a single one only before a character of the syntax. So a text is a pasted path if it begins with `C:` or
with two backslashes and a name, has only single backslashes after that, and one of them is before another character.
"""

from __future__ import annotations

import re
from typing import Final

_SHARE: Final = r"\\\\[^\\{stops}]+"
_PATH: Final = (
    rf"(?:[A-Za-z]:|{_SHARE})(?=[^{{stops}}]*\\[\w.$%#@])(?:\\[^\\{{stops}}]+)+{{slash}}(?={{end}})"
)
_BEGINNING: Final = rf"{_SHARE}\\[\w.$%#@]"
_IN_WORD: Final = {"stops": r"\s^:{}\"\[\]()", "slash": r"\\?", "end": r"[\s)^]|$"}
_IN_QUOTES: Final = {quote: {"stops": quote, "slash": r"(?:\\\\)?", "end": quote} for quote in "\"'"}
"""What a path cannot have, how a backslash at its end is written, and what ends it."""
_PATHS: Final = {q: re.compile(_PATH.format_map(of)) for q, of in ({"": _IN_WORD} | _IN_QUOTES).items()}
_SHARES: Final = {q: re.compile(_BEGINNING.format_map(of)) for q, of in ({"": _IN_WORD} | _IN_QUOTES).items()}


def is_windows_path(text: str, at: int = 0, quote: str = "") -> bool:
    r"""Return True if a pasted path begins here and ends at the quote; without a quote, with the word.

    >>> is_windows_path(r"\\server\share\dir"), is_windows_path(r"\\server\\share")
    (True, False)
    """
    return _PATHS[quote].match(text, at) is not None


def begins_as_share(text: str, at: int = 0, quote: str = "") -> bool:
    r"""Return True if a text begins as the path of a share does, with a single backslash after the server.

    >>> begins_as_share(r"\\server\share\\dir"), begins_as_share(r"\\server\\share")
    (True, False)
    """
    return _SHARES[quote].match(text, at) is not None
