"""The script of examples/ that needs Spark runs, and prints each alert once."""

from __future__ import annotations

import security_alerts


def test_alerts_are_announced_once(spark, capsys):
    security_alerts.main()
    printed = capsys.readouterr().out.splitlines()
    assert printed == [
        "ALERT in batch 0: web1: Failed password for root from 203.0.113.9 port 39257 ssh2",
        "alerts so far: 1",
        "ALERT in batch 1: web1: Failed password for root from 192.0.2.44 port 51111 ssh2",
        "alerts so far: 2",
    ]
