"""The moment that times in the log, in statistics and in an index are counted from."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Final

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
EPOCH_DAY: Final = date(1970, 1, 1)
