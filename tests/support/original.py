"""The settings of IndexTables for Scala, with values as its documentation gives them, and a table that they fit."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa

_FILE = Path(__file__).parents[1] / "data" / "original_settings.json"

ROWS = pa.table(
    {
        "id": pa.array([1, 2, 3], pa.int64()),
        "title": ["disk failure", "login", "disk full"],
        "content": ["the disk of db-1 failed", "user logged in", "no space on db-2"],
        "message": ["error: disk", "ok", "warning: disk"],
        "payload": ['{"a": 1}', '{"a": 2}', None],
        "client_ip": ["10.0.0.1", "10.0.0.2", "10.0.0.3"],
        "status": ["open", "closed", "open"],
        "score": [0.5, 1.5, 2.5],
    }
)


def original_settings(directory: Path) -> dict[str, str]:
    """Return every key with a value. Paths are in `directory`, where the one for temporary files must exist."""
    (directory / "temp").mkdir(exist_ok=True)
    return {
        key: value.replace("{directory}", str(directory))
        for key, value in json.loads(_FILE.read_text()).items()
    }


def original_keys() -> list[str]:
    return list(json.loads(_FILE.read_text()))
