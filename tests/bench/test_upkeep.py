"""A table that is appended to for days, with merges and purges on, is bounded, and retained versions are whole."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.console import Console

from bench import upkeep


@pytest.mark.slow
def test_splits_version_files_and_bytes_are_bounded(tmp_path: Path) -> None:
    appends_a_day, min_splits = 48, 8
    samples = upkeep.simulate(tmp_path, print, days=4, minutes=30, samples=8, min_splits=min_splits)
    upkeep.show(Console(width=120), samples)
    assert samples[-1].appends == 4 * appends_a_day
    # A version for each append, and one for each merge of at least half of the splits. They are kept for a day, and
    # until the next merge after that.
    versions_a_day = appends_a_day * (1 + 2 / min_splits)
    early, late = samples[:4], samples[4:]
    for sample in samples:
        assert sample.live_splits <= min_splits
        assert sample.version_files <= 2 * versions_a_day
    # The first two days fill the table up to its bounds; later days add rows, and little else.
    assert max(one.version_files for one in late) <= 1.2 * max(one.version_files for one in early)
    assert max(one.bytes for one in late) <= 1.5 * max(one.bytes for one in early)
    assert max(one.log_bytes for one in late) <= 1.5 * max(one.log_bytes for one in early)
    assert max(one.states for one in late) <= 1.2 * max(one.states for one in early)


@pytest.mark.soak
@pytest.mark.timeout(6 * 3600)
def test_thirty_days_of_an_append_a_minute_are_bounded(tmp_path: Path) -> None:
    appends_a_day, min_splits = 24 * 60, 32
    samples = upkeep.simulate(tmp_path, print, days=30, minutes=1, samples=30, min_splits=min_splits)
    upkeep.show(Console(width=120), samples)
    assert samples[-1].appends == 30 * appends_a_day
    for sample in samples:
        assert sample.live_splits <= min_splits
        assert sample.version_files <= 2 * appends_a_day * (1 + 2 / min_splits)
    early, late = samples[:15], samples[15:]
    assert max(one.bytes for one in late) <= 1.5 * max(one.bytes for one in early)
    assert max(one.log_bytes for one in late) <= 1.5 * max(one.log_bytes for one in early)
    assert max(one.states for one in late) <= 1.2 * max(one.states for one in early)
