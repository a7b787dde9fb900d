"""The pictures of the web UI in the documentation, and a hash of what they show."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Final

DOCS: Final = Path(__file__).parents[2] / "docs"
IMAGES: Final = DOCS / "images"
HASH: Final = IMAGES / "shown-sources.sha256"
COMMAND: Final = "make pictures"
PICTURES: Final = ("discover", "discover-dark", "versions", "health", "files", "schema")

_UI: Final = Path(__file__).parents[2] / "src/indextables/ui"
_VIEWS: Final = ("conditions.py", "discovery.py", "inspection.py")


def hash_of_sources() -> str:
    """Return the hash of what a browser gets: the files of the page, and the sources of what it asks for."""
    found = hashlib.sha256()
    for path in [*sorted((_UI / "static").iterdir()), *(_UI / name for name in _VIEWS)]:
        found.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return found.hexdigest()
