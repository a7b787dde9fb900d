"""Failed logins in a system log: import it, find who tries, and watch for more. Plain Python, no Spark.

    python examples/security_logs.py [auth.log]

Without a file, a few lines like those of an SSH server are used.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

import indextables as it
from indextables.cli import main as indextables

LINES = """\
Dec 10 06:55:46 web1 sshd[24200]: Invalid user webmaster from 203.0.113.9
Dec 10 06:55:48 web1 sshd[24200]: Failed password for invalid user webmaster from 203.0.113.9 port 38926 ssh2
Dec 10 07:02:47 web1 sshd[24203]: Connection closed by 198.51.100.7
Dec 10 07:07:38 web2 sshd[24206]: Failed password for root from 203.0.113.9 port 39257 ssh2
Dec 10 07:08:30 web2 sshd[24208]: Accepted password for ada from 198.51.100.7 port 50314 ssh2
"""
LATER = "Dec 10 09:12:01 web1 sshd[24301]: Failed password for root from 192.0.2.44 port 51111 ssh2\n"


def new_rows(table: it.Table, since: int) -> pa.Table:
    """Return the rows that versions after `since` inserted: not those that they updated, moved or restored."""
    history = table.history().select(["version", "operation"]).to_pylist()
    restores = pa.array([row["version"] for row in history if row["operation"] == "RESTORE"], pa.int64())
    feed = table.changes(since=since).to_arrow(feed=True)
    restored = pc.is_in(feed.column("_commit_version"), value_set=restores)
    rows = feed.filter(pc.and_not(pc.equal(feed.column("_change_type"), "insert"), restored))
    return rows.select(table.schema.names)


def watch(table: it.Table, query: str) -> it.Table:
    """Print the matches among the rows that were added since the table was opened; return its newest version."""
    newest = table.refresh()
    if newest.version > table.version:
        with tempfile.TemporaryDirectory() as name:
            it.write(Path(name) / "new", new_rows(newest, table.version), text=["message"])
            for message in it.open(Path(name) / "new").search(query).column("message").to_pylist():
                print("ALERT", message)
    return newest


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        log = Path(sys.argv[1]) if len(sys.argv) > 1 else home / "auth.log"
        if not log.exists():
            log.write_text(LINES)
        path = home / "auth"
        indextables(["import", str(path), str(log), "--pattern", "syslog", "--quiet"])

        table = it.open(path)
        failed = table.hits('message:"failed password"')
        print(failed)
        for row in failed.arrow.to_pylist():
            print(f"  {row['timestamp']:%m-%d %H:%M:%S}  {row['host']}  {row['_snippet']}")
        print("by host:", table.top_values("host", query='message:"failed password"').to_pylist())

        more = home / "more.log"
        more.write_text(LATER)
        indextables(["import", str(path), str(more), "--pattern", "syslog", "--quiet"])
        table = watch(table, 'message:"failed password" AND message:root')
        table.restore(0)
        table.refresh().restore(1)  # rows that come back are no new ones
        watch(table, 'message:"failed password" AND message:root')


if __name__ == "__main__":
    main()
