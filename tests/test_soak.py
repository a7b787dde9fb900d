"""The long checks run at their full size, for as long as they need. See `make soak`."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from support.markers import check_soak_timeouts

TESTS = Path(__file__).parent
MAKEFILE = (TESTS.parent / "Makefile").read_text()


def item(*markers: str) -> Any:
    return SimpleNamespace(
        nodeid=f"test_of_{'_'.join(markers)}",
        get_closest_marker=lambda name: name if name in markers else None,
    )


def test_a_soak_test_without_a_timeout_stops_the_run():
    """Every run collects its tests through this check, so no test can lack one."""
    check_soak_timeouts([item("soak", "timeout"), item("slow"), item()])
    with pytest.raises(pytest.UsageError, match="test_of_soak$"):
        check_soak_timeouts([item("soak"), item("slow")])


def test_no_test_changes_its_size_with_the_environment():
    """A long form is a test of its own, marked soak: then `make soak` runs it, and no other run does."""
    reading = [
        str(path.relative_to(TESTS))
        for path in TESTS.rglob("*.py")
        if "INDEXTABLES_SOAK" in path.read_text() and path != Path(__file__)
    ]
    assert reading == ["conftest.py"]


def test_every_run_of_the_tests_has_the_java_of_set_up():
    runs = [line for line in MAKEFILE.splitlines() if "-m pytest" in line]
    assert len(runs) == 4
    assert [line for line in runs if "$(WITH_JAVA)" not in line] == []
    (soak,) = re.findall(r"INDEXTABLES_SOAK=1 .* -m pytest (.*)", MAKEFILE)
    assert soak == "-m soak $(ARGS)"
