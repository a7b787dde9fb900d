"""Streams: a table read in batches, each of which has what was added since the batch before.

Read the modules in this order:

- `options`: what a stream reads, and how much of it a batch has;
- `offsets`: how far a stream has read, as Spark stores it;
- `new_files`: what one version means to a stream;
- `admission`: how many files a batch takes;
- `source`: where a stream begins, where a batch ends, and the files between two offsets;
- `planning`: the scan of those files;
- `feed`: the same for the feed of changes, which a batch read has too.
"""

from indextables.streams.feed import (
    batch_tasks,
    check_feed_stream,
    feed_columns,
    last_table,
    range_tasks,
)
from indextables.streams.offsets import Offset, Position
from indextables.streams.options import FEED_NAMES, Limits, StreamOptions, split_options
from indextables.streams.planning import batch_request, plan_batch, stream_columns, stream_schema
from indextables.streams.source import StreamSource

__all__ = [
    "FEED_NAMES",
    "Limits",
    "Offset",
    "Position",
    "StreamOptions",
    "StreamSource",
    "batch_request",
    "batch_tasks",
    "check_feed_stream",
    "feed_columns",
    "last_table",
    "plan_batch",
    "range_tasks",
    "split_options",
    "stream_columns",
    "stream_schema",
]
