"""The pictures in the documentation show the web UI as it is."""

from __future__ import annotations

from support.pictures import COMMAND, DOCS, HASH, IMAGES, PICTURES, hash_of_sources


def test_pictures_are_of_these_sources():
    assert HASH.read_text().strip() == hash_of_sources(), (
        f"the web UI has changed since its pictures were taken: run `{COMMAND}`, look at each, and commit them"
    )


def test_each_picture_is_in_the_documentation():
    page = (DOCS / "ui.md").read_text()
    assert {path.stem for path in IMAGES.glob("*.png")} == set(PICTURES)
    for name in PICTURES:
        assert f"images/{name}.png" in page
