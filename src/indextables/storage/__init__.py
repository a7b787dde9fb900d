"""Where tables lie: one small interface over local disk, memory, S3 and Azure, with a durable create-if-absent."""

from indextables.storage.access import options_for_tasks
from indextables.storage.claiming import READ_BACKS, Backoff, Claim, claim, create_once
from indextables.storage.local import LocalStore
from indextables.storage.opening import open_store
from indextables.storage.scratch import remove_leftovers
from indextables.storage.store import ObjectInfo, Store
from indextables.storage.uri import is_on_this_machine, table_uri

__all__ = [
    "READ_BACKS",
    "Backoff",
    "Claim",
    "LocalStore",
    "ObjectInfo",
    "Store",
    "claim",
    "create_once",
    "is_on_this_machine",
    "open_store",
    "options_for_tasks",
    "remove_leftovers",
    "table_uri",
]
