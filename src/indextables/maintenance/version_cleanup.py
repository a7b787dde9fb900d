"""The clean-up of version files on demand; see `log.version_retention` for its rules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from indextables.config import Settings, keys
from indextables.log.cleanup.validation import newest_valid_checkpoint
from indextables.log.cleanup.version_retention import delete_versions, versions_to_clean
from indextables.log.versions.listing import list_log
from indextables.runtime import now_ms
from indextables.storage import Store


@dataclass(frozen=True)
class CleanedVersions:
    """What a clean-up of version files found and did. `failures` say what could not be deleted, and why."""

    table_path: str
    covered_by: int
    versions_found: int
    versions_deleted: int
    versions_kept: int
    dry_run: bool
    failures: tuple[str, ...] = ()


def clean_versions(
    store: Store,
    settings: Settings,
    *,
    hours: int | None = None,
    dry_run: bool | None = None,
    clock: Callable[[], int] = now_ms,
) -> CleanedVersions:
    """Deletes the version files that retention no longer keeps. Safe beside writers, readers and other clean-ups."""
    if dry_run is None:
        dry_run = settings.get(keys.CLEANUP_DRY_RUN)
    listing = list_log(store)
    covered_by = newest_valid_checkpoint(store, listing, settings)
    expired = versions_to_clean(store, listing, settings, covered_by=covered_by, hours=hours, now_ms=clock())
    deleted, failures = (0, ()) if dry_run else delete_versions(store, expired, settings)
    return CleanedVersions(
        store.uri,
        covered_by,
        len(expired),
        deleted,
        len(listing.versions) - deleted,
        dry_run,
        failures,
    )
