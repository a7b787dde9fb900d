"""Streams: a table read in batches, each of which has what was added since the batch before.

Read the modules in this order:

- `options`: what a stream reads, and how much of it a batch has;
- `offsets`: how far a stream has read, as Spark stores it;
- `new_files`: what one version means to a stream;
- `admission`: how many files a batch takes;
- `source`: where a stream begins, where a batch ends, and the files between two offsets;
- `planning`: the scan of those files.
"""

from indextables.streams.offsets import Offset, Position
from indextables.streams.options import Limits, StreamOptions, split_options
from indextables.streams.planning import batch_request, plan_batch, stream_columns, stream_schema
from indextables.streams.source import StreamSource

__all__ = [
    "Limits",
    "Offset",
    "Position",
    "StreamOptions",
    "StreamSource",
    "batch_request",
    "plan_batch",
    "split_options",
    "stream_columns",
    "stream_schema",
]
