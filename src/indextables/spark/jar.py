"""The jar that Spark loads: the one in the package, or one compiled from the sources in it, once for each user.

A wheel made by `make wheel` contains the jar. An installation from a source tree or a git address does not. Then
the jar is compiled when a session first needs it, which takes a Java development kit and a few seconds. It is kept in a
directory that only its user can write, since Spark runs the code in it.
"""

from __future__ import annotations

import hashlib
import importlib.util
import logging
import os
import shutil
import stat
import subprocess
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from indextables.errors import ConfigError

SOURCES: Final = Path(__file__).parent / "jvm"
BUNDLED: Final = SOURCES / "indextables-spark.jar"
RELEASE: Final = "17"
"""The oldest Java on which Spark 4 runs."""

_HASH_ENTRY: Final = "META-INF/indextables-sources"
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)  # the earliest time a zip entry can bear
_TIMEOUT_SECONDS: Final = 600
_ADVICE: Final = (
    f"install a Java development kit, version {RELEASE} or newer (Debian, Ubuntu: apt-get install "
    "openjdk-17-jdk-headless; macOS: brew install openjdk@17), or point JAVA_HOME at one; or install the package "
    "from a wheel that carries the jar (`make wheel` in a checkout)"
)
_log: Final = logging.getLogger(__name__)


def find_jar() -> Path:
    """Return the jar for the installed sources, and compile it if there is none. ConfigError if that is impossible."""
    sources = source_hash()
    if hash_in(BUNDLED) == sources:
        return BUNDLED
    jars = spark_jars()
    directory = _private(_cache_directory())
    jar = directory / f"indextables-spark-{sources[:16]}-{_spark_version(jars)}.jar"
    if jar.exists():
        _check_private(jar)
        if hash_in(jar) == sources:
            return jar
    _log.info("compiling the Spark part of indextables into %s", jar)
    build_jar(jar, jars)
    return jar


def build_jar(target: Path, jars: Path, *, lint: str = "none") -> None:
    """Compile the sources against Spark's jars and put the result in place at once.

    Several processes may build at the same time: the same sources and compiler give the same bytes, and each process
    replaces the file atomically.
    """
    javac = _find_javac()
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".building-") as name:
        classes = Path(name) / "classes"
        flags = [
            "--release",
            RELEASE,
            "-encoding",
            "UTF-8",
            f"-Xlint:{lint}",
            "-proc:none",
            "-cp",
            f"{jars}/*",
        ]
        _compile([javac, *flags, "-d", str(classes), *map(str, _java_files())])
        partial = Path(name) / target.name
        _pack(classes, partial)
        partial.chmod(0o644)
        partial.replace(target)


def source_hash() -> str:
    """Return the hash of all sources of the jar."""
    digest = hashlib.sha256(RELEASE.encode())
    for path in [*_java_files(), *_services()]:
        content = path.read_bytes()
        digest.update(f"{path.relative_to(SOURCES).as_posix()} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()


def hash_in(jar: Path) -> str | None:
    """Return the hash of the sources of a jar, or None if there is no jar or this package has not built it."""
    try:
        with zipfile.ZipFile(jar) as archive:
            return archive.read(_HASH_ENTRY).decode()
    except (OSError, KeyError, ValueError, zipfile.BadZipFile):
        return None


def spark_jars() -> Path:
    """Return the directory of Spark's own jars."""
    spec = importlib.util.find_spec("pyspark")
    homes = [Path(os.environ["SPARK_HOME"])] if os.environ.get("SPARK_HOME") else []
    homes += [Path(spec.origin).parent] if spec is not None and spec.origin is not None else []
    if not homes:
        raise ConfigError(
            'pyspark is not installed in this Python: pip install "CLONE[spark]", CLONE being the directory of your '
            "clone"
        )
    for home in homes:
        if any((home / "jars").glob("spark-sql_*.jar")):
            return home / "jars"
    raise ConfigError(
        f"there are no jars of Spark in {homes[-1]}, so that the jar of indextables cannot be compiled; "
        "install pyspark, or install indextables from a wheel that carries the jar"
    )


def _java_files() -> list[Path]:
    return sorted(SOURCES.rglob("*.java"))


def _services() -> list[Path]:
    return sorted(path for path in (SOURCES / "META-INF").rglob("*") if path.is_file())


def _spark_version(jars: Path) -> str:
    return min(path.stem for path in jars.glob("spark-sql_*.jar")).partition("-sql_")[2]


def _find_javac() -> str:
    home = os.environ.get("JAVA_HOME")
    javac = shutil.which("javac", path=str(Path(home) / "bin")) if home else None
    javac = javac or shutil.which("javac")
    if javac is not None:
        return javac
    runtime = "only a Java runtime without a compiler" if home or shutil.which("java") else "no Java"
    raise ConfigError(
        f"the jar for Spark is not in this installation, and {runtime} was found to compile it with: {_ADVICE}"
    )


def _compile(command: Sequence[str]) -> None:
    try:
        done = subprocess.run(  # noqa: S603 - the compiler that the user's environment names
            command,
            check=False,
            capture_output=True,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            timeout=_TIMEOUT_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired) as reason:
        raise ConfigError(
            f"the jar for Spark cannot be compiled with {command[0]}: {reason}; {_ADVICE}"
        ) from None
    if done.returncode != 0:
        said = (done.stdout + done.stderr).strip()[-2000:]
        raise ConfigError(
            f"the jar for Spark cannot be compiled with {command[0]}; {_ADVICE}. It says:\n{said}"
        )
    if done.stderr.strip():
        _log.warning("%s", done.stderr.strip())


def _pack(classes: Path, target: Path) -> None:
    entries = {path.relative_to(SOURCES).as_posix(): path.read_bytes() for path in _services()}
    entries |= {path.relative_to(classes).as_posix(): path.read_bytes() for path in classes.rglob("*.class")}
    entries[_HASH_ENTRY] = source_hash().encode()
    with zipfile.ZipFile(target, "w") as jar:
        for name in sorted(entries):
            info = zipfile.ZipInfo(name, _EPOCH)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = 0o644 << 16
            jar.writestr(info, entries[name])


def _cache_directory() -> Path:
    xdg_cache = os.environ.get("XDG_CACHE_HOME")  # its specification says to ignore a relative path
    try:
        base = Path(xdg_cache) if xdg_cache and Path(xdg_cache).is_absolute() else Path.home() / ".cache"
    except RuntimeError:
        raise ConfigError(
            "the jar for Spark is compiled into the user's cache directory, and this user has no home; "
            "set XDG_CACHE_HOME to a directory that only this user can write"
        ) from None
    return base / "indextables"


def _private(directory: Path) -> Path:
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as reason:
        raise ConfigError(
            f"the jar for Spark is compiled into {directory}, which cannot be made ({reason}); "
            "set XDG_CACHE_HOME to a directory that this user can write"
        ) from None
    _check_private(directory)
    return directory


def _check_private(path: Path) -> None:
    """Raise ConfigError unless only this user can write the file or directory, and it is not a link."""
    info = path.lstat()
    is_plain = stat.S_ISDIR(info.st_mode) or stat.S_ISREG(info.st_mode)
    if not is_plain or info.st_uid != os.geteuid() or info.st_mode & 0o022:
        raise ConfigError(
            f"{path} can be written by others than this user, and Spark would run what is in it: "
            "delete it, or set XDG_CACHE_HOME to another directory"
        )
