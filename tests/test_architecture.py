"""Packages import downwards only, through each other's public API, and no name hides a module."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import indextables
from support.architecture import names_of, sources, violations

SOURCES = sources(Path(indextables.__file__).parent)


def test_the_sources_keep_the_rules():
    assert violations(SOURCES) == []


@pytest.mark.parametrize(
    ("module", "line", "breach"),
    [
        ("indextables.state.planted", "from indextables.table import Table", "upwards"),
        ("indextables.log.actions.planted", "from indextables.log.commits import commit", "upwards"),
        ("indextables.storage.planted", "from indextables import open", "upwards"),
        ("indextables.spark.planted", "from indextables.demo import log_table", "upwards"),
        ("indextables.table.planted", "from indextables.state.manifest import StateManifest", "around"),
        ("indextables.table.planted", "import indextables.state.manifest", "around"),
        ("indextables.table.planted", "from indextables.state import manifest", "around"),
        ("indextables.spark.planted", "from indextables.table import _secret", "private"),
        ("indextables.planted", "VALUE = 1", "without a layer"),
        ("indextables.state.planted", "_seen: dict[str, int] = {}", "process state"),
        ("indextables.state.planted", "import threading\n_lock = threading.Lock()", "process state"),
        ("indextables.state.planted", "def count():\n    global calls\n    calls += 1", "process state"),
        ("indextables.state.planted", "def entry():\n    return AddFile('a', {}, 1)", "by position"),
        ("indextables.state.planted", "def entry(values):\n    return AddFile(*values)", "by position"),
    ],
)
def test_a_planted_violation_is_found(module: str, line: str, breach: str):
    planted = violations({**SOURCES, module: line})
    assert [found for found in planted if found.startswith(breach) and module in found]


def test_a_planted_shadow_is_found():
    text = (
        SOURCES["indextables.state"] + "\nfrom indextables.state.manifest import StateManifest as manifest\n"
    )
    planted = violations({**SOURCES, "indextables.state": text})
    assert "shadowed: indextables.state.manifest is a module and a name of indextables.state" in planted


def test_what_only_a_type_checker_sees_may_point_upwards():
    guarded = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from indextables.table import Table\n"
    assert violations({**SOURCES, "indextables.state.planted": guarded}) == violations(SOURCES)


def test_a_subpackage_may_use_the_modules_of_its_package():
    inside = {**SOURCES, "indextables.state.planted": "", "indextables.state.planted.part": ""}
    inside["indextables.state.planted.part"] = "from indextables.state.manifest import StateManifest"
    assert violations(inside) == violations(SOURCES)


ROOT = Path(__file__).parents[1]
WALKS = re.findall(
    r"^### ([^\n]+)\n(.*?)(?=^##)", (ROOT / "ARCHITECTURE.md").read_text(), re.MULTILINE | re.DOTALL
)


def test_the_walks_are_those_that_a_newcomer_needs():
    assert [title for title, _ in WALKS] == [
        "A write",
        "A commit",
        "A search",
        "A ranking",
        "A page of a search",
        "An aggregate in Spark",
        "A delete",
        "A change of columns",
        "A batch of a stream",
        "A batch into a table",
        "A clean-up",
        "Upkeep after a write",
        "A column-group transaction",
    ]


MODULE = r"`([\w./]+\.(?:py|java))`"


def _source(module: str) -> Path:
    """Return the file of a module that a walk names: Java classes by `spark/jvm/.../Name.java`."""
    directory, _, name = module.rpartition("/.../")
    if not directory:
        return ROOT / "src" / "indextables" / module
    (file,) = (ROOT / "src" / "indextables" / directory).rglob(name)
    return file


@pytest.mark.parametrize(("title", "text"), WALKS)
def test_a_walk_names_at_most_six_modules_that_exist(title: str, text: str):
    modules = set(re.findall(MODULE, text))
    assert 3 <= len(modules) <= 6, f"{title} names {sorted(modules)}"
    assert [module for module in modules if not _source(module).is_file()] == []


@pytest.mark.parametrize(("title", "text"), WALKS)
def test_a_step_of_a_walk_names_functions_that_its_modules_have(title: str, text: str):
    for step in re.split(r"^(?=\d\. )|\n\n", text, flags=re.MULTILINE):
        modules = re.findall(MODULE, step)
        if modules:
            names = {name for module in modules for name in names_of(_source(module))}
            assert set(re.findall(r"`(\w+)`", step)) <= names, f"{title}: {modules}"


def test_names_of_a_module_are_what_it_defines_or_imports_and_not_every_word_of_it(tmp_path: Path):
    module = tmp_path / "planted.py"
    module.write_text(
        "import os.path\nfrom state import prune as pruned\nLIMIT: int = 1\n\n"
        "class Plan:\n    size: int\n\n    def run(self):\n        local = 'commit'\n        return local\n"
    )
    assert names_of(module) == {"os", "pruned", "LIMIT", "Plan", "size", "run"}
