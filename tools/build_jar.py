"""Compiles the Java shim against the jars of the installed pyspark and packs it into the package.

    python tools/build_jar.py [--force]

Does nothing when the jar is newer than its sources. The same sources and compiler give the same bytes.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

SHIM = Path(__file__).resolve().parent.parent / "src" / "indextables" / "spark" / "jvm"
JAR = SHIM / "indextables-spark.jar"
RELEASE = "17"
EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest time a zip entry can bear


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--force", action="store_true", help="build even if the jar is up to date")
    arguments = parser.parse_args()
    if is_current() and not arguments.force:
        print(f"{JAR.name} is up to date")
        return
    javac, jars = find_javac(), find_pyspark_jars()
    with tempfile.TemporaryDirectory() as directory:
        classes = Path(directory)
        compile_sources(javac, jars, classes)
        pack(classes)
    print(f"{JAR.name} built, {JAR.stat().st_size // 1024} KB")


def sources() -> list[Path]:
    return sorted(SHIM.rglob("*.java"))


def services() -> list[Path]:
    return sorted(path for path in (SHIM / "META-INF").rglob("*") if path.is_file())


def is_current() -> bool:
    inputs = [*sources(), *services(), Path(__file__)]
    return JAR.exists() and JAR.stat().st_mtime >= max(path.stat().st_mtime for path in inputs)


def find_javac() -> str:
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("javac", path=str(Path(home) / "bin")) if home else None
    found = found or shutil.which("javac")
    if found is None:
        sys.exit(f"no Java compiler found: install a JDK {RELEASE} or newer, or set JAVA_HOME to one")
    return found


def find_pyspark_jars() -> Path:
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        sys.exit("pyspark is not installed in this Python: pip install 'indextables[spark]' first")
    return Path(spec.origin).parent / "jars"


def compile_sources(javac: str, jars: Path, classes: Path) -> None:
    lint = "-Xlint:all,-path,-classfile,-processing"  # those three speak of Spark's jars, not of this code
    flags = ["--release", RELEASE, "-encoding", "UTF-8", lint, "-cp", f"{jars}/*", "-d", str(classes)]
    if subprocess.run([javac, *flags, *sources()], check=False).returncode != 0:
        sys.exit("the Java shim does not compile; the compiler says why above")


def pack(classes: Path) -> None:
    entries = {path.relative_to(SHIM).as_posix(): path for path in services()}
    entries |= {path.relative_to(classes).as_posix(): path for path in classes.rglob("*.class")}
    partial = JAR.with_suffix(".partial")
    with zipfile.ZipFile(partial, "w") as jar:
        for name in sorted(entries):
            info = zipfile.ZipInfo(name, EPOCH)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = 0o644 << 16
            jar.writestr(info, entries[name].read_bytes())
    partial.replace(JAR)


if __name__ == "__main__":
    main()
