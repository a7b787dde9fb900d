"""What pyproject.toml cannot say: a wheel without the Spark part would install and then fail, so none is built."""

from __future__ import annotations

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py


class BuildWithJar(build_py):
    def run(self) -> None:
        if not self.editable_mode and not list(Path("src/indextables/spark/jvm").glob("*.jar")):
            raise SystemExit(
                "indextables: the Spark part is not compiled (no jar in src/indextables/spark/jvm); "
                "run `make jar` first, then build the wheel."
            )
        super().run()


setup(cmdclass={"build_py": BuildWithJar})
