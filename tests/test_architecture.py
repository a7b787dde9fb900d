"""Packages import downwards only, through each other's public API, and no name hides a module."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import indextables
from support.architecture import sources, violations

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
        "An aggregate in Spark",
        "A delete",
        "A change of columns",
        "A batch of a stream",
        "A clean-up",
        "Upkeep after a write",
        "A column-group transaction",
    ]


@pytest.mark.parametrize(("title", "text"), WALKS)
def test_a_walk_names_at_most_six_modules_that_exist_and_functions_that_they_have(title: str, text: str):
    steps = re.findall(r"^\d\. `([\w/]+\.py)`:(.*?)(?=^\d\. |^$|\Z)", text, re.MULTILINE | re.DOTALL)
    assert 3 <= len(steps) <= 6
    for module, words in steps:
        source = (ROOT / "src" / "indextables" / module).read_text()
        for name in re.findall(r"`(\w+)`", words):
            assert name in source, f"{title}: {module} does not mention {name}"
