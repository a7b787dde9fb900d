"""Rows in Parquet files: one reader and one writer, for splits and for datasets of column groups."""

from indextables.rows.chunks import Span
from indextables.rows.excerpt import GroupPages, LeafKind, LeafPages, parquet_excerpt, parquet_schema
from indextables.rows.footer import Footer
from indextables.rows.footer_check import TRAILER_BYTES, check_footer, footer_size
from indextables.rows.joining import JoinedFile, join_files
from indextables.rows.pages import PageDirectory, RowIds, checksums_and_pages
from indextables.rows.reader import RowReader
from indextables.rows.sources import MappedSource, RangedSource, Source, decoding
from indextables.rows.writer import PageSize, RowWriter, page_options

__all__ = [
    "TRAILER_BYTES",
    "Footer",
    "GroupPages",
    "JoinedFile",
    "LeafKind",
    "LeafPages",
    "MappedSource",
    "PageDirectory",
    "PageSize",
    "RangedSource",
    "RowIds",
    "RowReader",
    "RowWriter",
    "Source",
    "Span",
    "check_footer",
    "checksums_and_pages",
    "decoding",
    "footer_size",
    "join_files",
    "page_options",
    "parquet_excerpt",
    "parquet_schema",
]
