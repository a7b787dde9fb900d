"""What Spark must not show in its UI, its event log and its plans: the regular expressions by which it knows.

Spark redacts a value when its key, or the value itself, matches. By its own patterns it does not know all our secrets,
nor the option in which requests travel to Python.
"""

from __future__ import annotations

import itertools
import os
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from indextables.config import keys

PROPERTIES: Final = "spark.redaction.regex"
OPTIONS: Final = "spark.sql.redaction.options.regex"
SPARKS_OWN: Final = {PROPERTIES: "(?i)secret|password|token|access[.]?key|credential", OPTIONS: "(?i)url"}
"""Spark's defaults, as of 4.3, which ours must not replace."""

_SECRETS: Final = sorted(
    f"{family.prefix.split('.')[-2]}[.]{name}"
    for family in keys.FAMILIES
    for name in family.members or ()
    if not family.may_show(name)
)
PATTERN: Final = f"(?i:{'|'.join(_SECRETS)}|__request)"


def redactions(chosen: Mapping[str, Any]) -> dict[str, str]:
    """Return Spark's redaction settings with our secrets added to what the user, or else Spark, redacts.

    `chosen` are the options of a session's builder. What a file of defaults or a submitted job says is looked up.

    >>> redactions({OPTIONS: "url|pin"})[OPTIONS].startswith("(?:url|pin)|(?i:aws[.]accesskey|")
    True
    """
    others: Mapping[str, str] = {} if all(key in chosen for key in SPARKS_OWN) else dict(_configured())
    found = {}
    for key, default in SPARKS_OWN.items():
        theirs = str(chosen.get(key, others.get(key, default)))
        found[key] = theirs if PATTERN in theirs else f"(?:{theirs})|{PATTERN}"
    return found


def _configured() -> Iterator[tuple[str, str]]:
    """Yield the Spark configuration of this process from outside its code, the weaker before the stronger."""
    yield from _defaults_file()
    words = shlex.split(os.environ.get("PYSPARK_SUBMIT_ARGS", ""))
    for flag, value in itertools.pairwise(words):
        key, equals, text = value.partition("=")
        if flag in ("--conf", "-c") and equals:
            yield key, text
    if "PYSPARK_GATEWAY_PORT" in os.environ:  # run by spark-submit: the JVM is there, and knows its arguments
        from pyspark import SparkConf, SparkContext  # noqa: PLC0415 - only where Spark has been started

        SparkContext._ensure_initialized()  # noqa: SLF001
        yield from SparkConf().getAll()


def _defaults_file() -> Iterator[tuple[str, str]]:
    home = os.environ.get("SPARK_HOME")
    directory = os.environ.get("SPARK_CONF_DIR") or (f"{home}/conf" if home else None)
    file = None if directory is None else Path(directory) / "spark-defaults.conf"
    if file is None or not file.is_file():
        return
    for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
        match = re.fullmatch(r"\s*([^\s#!=:]+)\s*[\s=:]\s*(.*?)\s*", line)
        if match:
            yield match[1], match[2]
