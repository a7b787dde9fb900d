"""Compiles the Java shim against the jars of the installed pyspark and packs it into the package.

    python tools/build_jar.py [--force]

Does nothing when the jar was made of the sources that are there. The same sources and compiler give the same bytes.
"""

from __future__ import annotations

import argparse
import logging
import sys

from indextables.errors import ConfigError
from indextables.spark import jar

LINT = "all,-path,-classfile,-processing"  # those three speak of Spark's jars, not of this code


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--force", action="store_true", help="build even if the jar is up to date")
    arguments = parser.parse_args()
    logging.basicConfig(format="%(message)s")  # the compiler's warnings
    if jar.hash_in(jar.BUNDLED) == jar.source_hash() and not arguments.force:
        print(f"{jar.BUNDLED.name} is up to date")
        return
    try:
        jar.build_jar(jar.BUNDLED, jar.spark_jars(), lint=LINT)
    except ConfigError as reason:
        sys.exit(str(reason))
    print(f"{jar.BUNDLED.name} built, {jar.BUNDLED.stat().st_size // 1024} KB")


if __name__ == "__main__":
    main()
