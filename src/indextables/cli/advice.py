"""The message of an error at a shell: in the words of the command line, and with what to do where it does not say."""

from __future__ import annotations

import re
from typing import Final

from indextables.errors import IndexTablesError, QueryError, StorageError

_METADATA: Final = ("169.254.169.254", "169.254.170.2", "metadata.google.internal")
"""Where the libraries of clouds ask for credentials if there are none in settings or the environment."""

_ADVICE: Final = (
    "No credentials are set, so the machine was asked for its own. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or "
    "AZURE_STORAGE_ACCOUNT_KEY in the environment, or give --set aws.accessKey=... --set aws.secretKey=... or --set "
    "azure.accountKey=..."
)

_SUBJECT: Final = re.compile(r"INDEXQUERY on all columns(?: at position \d+)?: ")
_SEARCHED: Final = re.compile(r"(unknown column .*?)(?:: |(\?) )INDEXQUERY can search ")
_NO_PLACE: Final = re.compile(r"\n\s*\n\s*\^\Z")
"""The excerpt of a query without text, which has no place to point at."""
_WORDS: Final = (
    (
        r"Leave them out, add them with Table\.alter.*does too",
        "Leave them out, or add them to the table: --set write.mergeSchema=true",
    ),
    (
        r"column ('(.*)' is (\S+) in the table and \S+ in the rows); cast it first.*",
        r"column \1; --types \2=\3 reads it so, where the values allow that",
    ),
    (
        r"typemap names the unknown column ('.*'): the table has",
        r"--text names \1, which is no column; there are",
    ),
    (
        r"typemap of column ('.*'): the column is (\S+); only strings, and arrays of them, have a typemap",
        r"--text names \1, which is \2; only strings, and arrays of them, are searched by words",
    ),
    (r"write with mode append or overwrite", "--mode append or --mode overwrite writes to it"),
)
"""What the library says to programs, and what to type instead."""


def message_of(error: IndexTablesError) -> str:
    r"""Return the message of an error with the options of the command line in place of functions and settings.

    >>> print(message_of(QueryError("INDEXQUERY on all columns at position 0: unclosed quote\n  disk\n  ^")))
    unclosed quote
      disk
      ^
    """
    text = str(error)
    if isinstance(error, QueryError):
        text = _SEARCHED.sub(_with_columns, _SUBJECT.sub("", text, count=1), count=1)
        return _NO_PLACE.sub("", text)
    for pattern, words in _WORDS:
        text = re.sub(pattern, words, text)
    return text


def _with_columns(found: re.Match[str]) -> str:
    return f"{found[1]}? The columns are " if found[2] else f"{found[1]}; the columns are "


def advice(error: IndexTablesError) -> list[str]:
    """Return lines to print after the message of an error.

    >>> advice(StorageError("error performing PUT http://169.254.169.254/latest/api/token"))[0][:22]
    'No credentials are set'
    """
    if isinstance(error, StorageError) and any(host in str(error) for host in _METADATA):
        return [_ADVICE]
    return []
