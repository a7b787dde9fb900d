"""The check for banned words: it finds them across lines and in any case, and the project has none."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[2] / "tools" / "prose.py"


@pytest.fixture(scope="module")
def prose():
    spec = importlib.util.spec_from_file_location("prose", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_words_are_found_with_their_lines(prose):
    assert list(prose.find_banned("a file\nlies here,\nAnew.")) == [(2, "lies"), (3, "anew")]


def test_a_phrase_is_found_across_a_line_break_and_a_comment_sign(prose):
    assert list(prose.find_banned("# a reader of\n# ours")) == [(1, "of ours")]
    assert list(prose.find_banned("   * the writer is\n   * told of it")) == [(1, "is told")]


@pytest.mark.parametrize("text", ["mending", "recommend", "alies", "enthusiasm", "of oursel", "Amendment"])
def test_a_part_of_a_word_is_not_the_word(prose, text):
    assert list(prose.find_banned(text)) == []


def test_every_kind_of_file_is_read(prose, tmp_path):
    files = (
        "src/a/b.py",
        "src/a/C.java",
        "src/a/d.js",
        "src/a/e.html",
        "examples/f.py",
        "tests/g/test_h.py",
        "docs/i.md",
    )
    for name in (*files, "src/a/uplot.js"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    names = {str(path.relative_to(tmp_path)) for path in prose.checked_files(tmp_path)}
    assert {*files, "README.md", "CHANGELOG.md"} <= names
    assert "src/a/uplot.js" not in names


def test_the_project_has_no_banned_word(prose):
    assert [f"{path}:{line}: {phrase}" for path, line, phrase in prose.check(prose.checked_files())] == []
