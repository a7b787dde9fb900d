"""Stores of tables: one small interface over local disk, memory, S3 and Azure, with a durable create-if-absent."""

from indextables.storage.access import options_for_tasks
from indextables.storage.claiming import Backoff, Claim, claim, create_once, read_back
from indextables.storage.disk import disk_error, disk_errors, system_error
from indextables.storage.local import LocalStore
from indextables.storage.opening import open_store
from indextables.storage.ranged import RangedFile
from indextables.storage.request_counts import OPERATIONS, RequestFigures, count_request, request_figures
from indextables.storage.scratch import SCRATCH_ADVICE, ScratchDirectory, remove_leftovers, scratch_parent
from indextables.storage.store import LOG_DIRECTORY, ExistsByHead, ObjectInfo, Store, check_key
from indextables.storage.uri import is_on_this_machine, table_uri

__all__ = [
    "LOG_DIRECTORY",
    "OPERATIONS",
    "SCRATCH_ADVICE",
    "Backoff",
    "Claim",
    "ExistsByHead",
    "LocalStore",
    "ObjectInfo",
    "RangedFile",
    "RequestFigures",
    "ScratchDirectory",
    "Store",
    "check_key",
    "claim",
    "count_request",
    "create_once",
    "disk_error",
    "disk_errors",
    "is_on_this_machine",
    "open_store",
    "options_for_tasks",
    "read_back",
    "remove_leftovers",
    "request_figures",
    "scratch_parent",
    "system_error",
    "table_uri",
]
