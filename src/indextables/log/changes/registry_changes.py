"""Tidying the schema registry, in which files name the field mappings that they were indexed by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Final

from indextables.errors import TableNotFoundError
from indextables.log.actions import Action
from indextables.log.snapshots import Snapshot, renormalize_registry

_FILES_AT_ONCE: Final = 100_000
"""How many files one commit re-adds at most, so that its version file stays within what readers accept."""


@dataclass(frozen=True)
class RenormalizeSchemas:
    """Gives each field mapping one name, if the live files use more names than `threshold`.

    A file is re-added under its own path with another reference; the later entry of a path counts. A large table takes
    several commits, until nothing remains to be done.
    """

    threshold: int
    operation: ClassVar[str] = "RENORMALIZE SCHEMAS"

    @property
    def parameters(self) -> Mapping[str, str]:
        return {"threshold": str(self.threshold)}

    def actions(self, current: Snapshot | None) -> list[Action]:
        if current is None:
            raise TableNotFoundError("there is no table to tidy")
        due = renormalize_registry(current.metadata, current.files.values(), self.threshold)
        return [] if due is None else [due[0], *due[1][:_FILES_AT_ONCE]]
