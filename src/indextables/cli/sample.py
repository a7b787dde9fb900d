"""Sample data for a first try: a table of logs in several versions, or the same rows as a raw log."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from indextables.demo import CHUNK_ROWS, log_table
from indextables.errors import InputError
from indextables.table import Table, open_table, write_table

_VERSIONS: Final = 4


def write_sample_table(path: str, rows: int) -> Table:
    """Write a table in up to four versions, partitioned by date."""
    data = log_table(rows)
    step = -(-rows // _VERSIONS)
    for start in range(0, rows, step):
        part = data.slice(start, step)
        mode = "error" if start == 0 else "append"
        write_table(path, part, mode=mode, partition_by=["date"] if start == 0 else None, text=["message"])
    return open_table(path)


def write_sample_log(path: str, rows: int) -> int:
    """Write lines with time, level, service, host and message; the file must not exist."""
    target = Path(path)
    try:
        with target.open("x", encoding="utf-8") as out:
            for start in range(0, rows, CHUNK_ROWS):
                part = log_table(min(rows, start + CHUNK_ROWS)).slice(start)
                columns = [
                    part.column(n).to_pylist() for n in ("timestamp", "level", "service", "host", "message")
                ]
                for at, level, service, host, message in zip(*columns, strict=True):
                    time = f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond:06}Z"
                    out.write(f"{time} {level:5} {service} {host or '-'}: {message}\n")
    except FileExistsError:
        raise InputError(f"{path} exists already; name another file, or delete this one first") from None
    except OSError as reason:
        raise InputError(f"{path} cannot be written: {reason.strerror}") from None
    return rows
