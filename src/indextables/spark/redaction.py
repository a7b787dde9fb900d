"""The regular expressions by which Spark redacts values in its UI, its event log and its plans.

Spark redacts a value if its key, or the value itself, matches. Its default patterns do not match all of our secrets,
nor the option that holds requests to Python.
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
"""Spark's defaults, as of 4.3. Our pattern is added to them."""

_SECRETS: Final = sorted(
    f"{family.prefix.split('.')[-2]}[.]{name}"
    for family in keys.FAMILIES
    for name in family.members or ()
    if not family.may_show(name)
)
PATTERN: Final = f"(?i:{'|'.join(_SECRETS)}|__request)"


def redactions(options: Mapping[str, Any]) -> dict[str, str]:
    """Return Spark's redaction settings: what the user, or else Spark by default, redacts, and our secrets.

    `options` are those of a session's builder. The file of defaults and the arguments of a submitted job are read too.

    >>> redactions({OPTIONS: "url|pin"})[OPTIONS].startswith("(?:url|pin)|(?i:aws[.]accesskey|")
    True
    """
    configured: Mapping[str, str] = {} if all(key in options for key in SPARKS_OWN) else dict(_configured())
    patterns = {}
    for key, default in SPARKS_OWN.items():
        pattern = str(options.get(key, configured.get(key, default)))
        patterns[key] = pattern if PATTERN in pattern else f"(?:{pattern})|{PATTERN}"
    return patterns


def _configured() -> Iterator[tuple[str, str]]:
    """Yield the Spark configuration from outside the code of this process. Later values override earlier ones."""
    yield from _defaults_file()
    words = shlex.split(os.environ.get("PYSPARK_SUBMIT_ARGS", ""))
    for flag, value in itertools.pairwise(words):
        key, equals, text = value.partition("=")
        if flag in ("--conf", "-c") and equals:
            yield key, text
    if (
        "PYSPARK_GATEWAY_PORT" in os.environ
    ):  # run by spark-submit: the JVM runs already, and has its arguments
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
