"""Finds a Java development kit for Spark, installs one where that is allowed, and notes where it is.

    python tools/setup_java.py <file>

writes the kit's home directory into <file>, or ends with one sentence that says what to install.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

OLDEST = 17  # Spark 4 does not start on less
ADVICE = (
    f"Spark needs a Java development kit, version {OLDEST} or newer: install one "
    "(Debian, Ubuntu: apt-get install openjdk-17-jdk-headless; Fedora: dnf install java-21-openjdk-devel; "
    "macOS: brew install openjdk@17) or point JAVA_HOME at it, and run make setup again."
)


def run(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, check=False, capture_output=True, text=True, stdin=subprocess.DEVNULL)


def major_version(printed: str) -> int | None:
    """The major version in what `javac -version` printed.

    >>> major_version("javac 17.0.15"), major_version("javac 1.8.0_292"), major_version("no such file")
    (17, 8, None)
    """
    found = re.search(r"javac (?:1\.)?(\d+)", printed)
    return int(found[1]) if found else None


def homes(environment: Mapping[str, str], roots: tuple[Path, ...]) -> Iterator[Path]:
    """Where a kit may be, best first: what the user chose, what the shell finds, what the system keeps."""
    if chosen := environment.get("JAVA_HOME"):
        yield Path(chosen)
    if on_path := shutil.which("javac", path=environment.get("PATH")):
        yield Path(on_path).resolve().parent.parent
    for root in roots:
        for home in sorted(root.glob("*")):
            yield home
            yield home / "Contents" / "Home"  # macOS
            yield home / "libexec" / "openjdk.jdk" / "Contents" / "Home"  # Homebrew


def find_kit(environment: Mapping[str, str], roots: tuple[Path, ...]) -> Path | None:
    """The first home with a javac and a java that are new enough."""
    for home in homes(environment, roots):
        javac = home / "bin" / "javac"
        if javac.is_file() and (home / "bin" / "java").is_file():
            answer = run([str(javac), "-version"])
            version = major_version(answer.stdout + answer.stderr)
            if version is not None and version >= OLDEST:
                return home
    return None


def install_commands(which: Callable[[str], str | None], *, root: bool, sudo: bool) -> list[list[str]]:
    """The commands that would install a kit, to be tried in order; none where we may not.

    >>> install_commands(lambda name: name if name == "dnf" else None, root=True, sudo=False)
    [['dnf', 'install', '-y', 'java-21-openjdk-devel'], ['dnf', 'install', '-y', 'java-17-openjdk-devel']]
    >>> install_commands(lambda name: name if name == "dnf" else None, root=False, sudo=False)
    []
    """
    if which("brew") and not root:
        return [["brew", "install", "openjdk@17"]]
    if not (root or sudo):
        return []
    become = [] if root else ["sudo", "-n"]
    if which("apt-get"):
        install = [
            "env",
            "DEBIAN_FRONTEND=noninteractive",
            "apt-get",
            "install",
            "-y",
            "--no-install-recommends",
        ]
        packages = ["openjdk-17-jdk-headless", "openjdk-21-jdk-headless", "default-jdk-headless"]
        return [[*become, "apt-get", "update"], *([*become, *install, package] for package in packages)]
    if which("dnf"):
        packages = ["java-21-openjdk-devel", "java-17-openjdk-devel"]
        return [[*become, "dnf", "install", "-y", package] for package in packages]
    return []


def system_roots() -> tuple[Path, ...]:
    if platform.system() == "Darwin":
        return (Path("/Library/Java/JavaVirtualMachines"), Path("/opt/homebrew/opt"), Path("/usr/local/opt"))
    return (Path("/usr/lib/jvm"), Path("/usr/java"), Path("/opt/java"))


def main(note: Path) -> None:
    roots = system_roots()
    kit = find_kit(os.environ, roots)
    if kit is None:
        may_sudo = bool(shutil.which("sudo")) and run(["sudo", "-n", "true"]).returncode == 0
        for command in install_commands(shutil.which, root=os.geteuid() == 0, sudo=may_sudo):
            print(
                "no Java development kit of version 17 or newer found; running", " ".join(command), flush=True
            )
            run(command)
            kit = find_kit(os.environ, roots)
            if kit is not None:
                break
    if kit is None:
        sys.exit(ADVICE)
    note.write_text(f"{kit}\n")
    print(f"using the Java development kit in {kit}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
