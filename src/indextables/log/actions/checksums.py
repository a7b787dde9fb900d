"""Checksums of version files and JSON checkpoints, and the chain of versions.

A checksum is the SHA-256 of the file's text before compression. It is written into that text as 64 hexadecimal digits,
which count as zeros while the text is hashed. Readers of other implementations ignore the fields that hold it:

- a version file has it at the end of its first line, in `commitInfo.sha256`; `commitInfo.previousSha256` repeats the
  checksum of the version before, so that a replaced version no longer matches its successor;
- a checkpoint has it in an entry of the metadata's configuration, after its version, and it covers all parts.

Files without a checksum are not verified.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Final

from indextables.errors import CorruptTableError
from indextables.log.actions.model import CommitInfo

UNSEALED: Final = "0" * 64
"""The placeholder for a checksum until the text is complete."""

CHECKPOINT_SEAL: Final = "indextables.checkpoint.sha256"
"""The key in the metadata's configuration that holds the checksum of a JSON checkpoint."""

REPAIR_ADVICE: Final = (
    "restore the file, or write a new log from what is left (REPAIR INDEXFILES TRANSACTION LOG)"
)

_IN_VERSION: Final = re.compile(rb'"sha256":"([0-9a-f]{64})"\}\}\Z')
_CHECKPOINT_MARK: Final = f'"{CHECKPOINT_SEAL}":"'.encode()
_IN_CHECKPOINT: Final = re.compile(rb'[{,]"indextables\.checkpoint\.sha256":"([0-9]+)-([0-9a-f]{64})"')


def seal_version(text: bytes) -> tuple[bytes, str | None]:
    """Fill the placeholder in a version's text with its checksum; return the text and the checksum.

    A text without a placeholder is returned as it is, with None.
    """
    return _seal(text, _place_in_version(text))


def check_version(text: bytes, name: str) -> None:
    """Raise CorruptTableError if the text of a version file does not match the checksum in it."""
    Verification(text, _place_in_version(text)).check(name)


def seal_checkpoint(texts: Sequence[bytes], version: int) -> list[bytes]:
    """Fill the placeholder in the first part of a checkpoint with the checksum of all parts."""
    first, _ = _seal(texts[0], _place_in_checkpoint(texts[0], version), texts[1:])
    return [first, *texts[1:]]


def verify_checkpoint(first: bytes, version: int) -> Verification:
    """Start to verify the checkpoint of a version, part by part, so that the parts need not be in memory at once."""
    return Verification(first, _place_in_checkpoint(first, version))


def check_predecessor(version: int, info: CommitInfo | None, before: str | None, uri: str) -> None:
    """Raise CorruptTableError if a version does not follow the version with the checksum `before`.

    Either checksum may be unknown, as after a commit of another implementation. Then nothing is compared.
    """
    expected = None if info is None else info.previous_sha256
    if expected is not None and before is not None and expected != before:
        raise CorruptTableError(
            f"{uri}: version {version} was written after another version {version - 1} than the one in the log; "
            f"one of the two files was replaced: {REPAIR_ADVICE}"
        )


def replaced_versions(infos: Mapping[int, CommitInfo | None]) -> set[int]:
    """Return the versions whose files were replaced: the successor was written after a file with another checksum.

    The newest version is trusted, and so is every version that a trusted successor does not contradict.

    >>> infos = {n: CommitInfo(sha256=f"sum{n}", previous_sha256=f"sum{n - 1}") for n in (1, 2, 3)}
    >>> replaced_versions(infos | {2: CommitInfo(sha256="another", previous_sha256="unrelated")})
    {2}
    """
    replaced: set[int] = set()
    for version in sorted(infos, reverse=True):
        after, info = infos.get(version + 1), infos[version]
        if version + 1 in replaced or after is None or info is None:
            continue
        if None not in (after.previous_sha256, info.sha256) and after.previous_sha256 != info.sha256:
            replaced.add(version)
    return replaced


Place = tuple[int, int]


def _place_in_version(text: bytes) -> Place | None:
    end = text.find(b"\n")
    if end < 0 or not text.startswith(b'{"commitInfo":'):
        return None
    match = _IN_VERSION.search(text, 0, end)
    return match.span(1) if match else None


def _place_in_checkpoint(text: bytes, version: int) -> Place | None:
    # Within a JSON string the quotes would be escaped: only a key looks like this.
    at = text.find(_CHECKPOINT_MARK)
    match = _IN_CHECKPOINT.match(text, at - 1) if at > 0 else None
    # The checksum of another version came with metadata that another writer copied into this checkpoint.
    return match.span(2) if match and match[1] == b"%d" % version else None


class Verification:
    """Compares a text, in one or several parts, with the checksum in its first part."""

    def __init__(self, first: bytes, place: Place | None) -> None:
        self._expected = None if place is None else first[place[0] : place[1]].decode()
        self._digest = hashlib.sha256()
        if place is not None:
            view = memoryview(first)
            self._digest.update(view[: place[0]])
            self._digest.update(UNSEALED.encode())
            self._digest.update(view[place[1] :])

    @property
    def checksum(self) -> str:
        return self._digest.hexdigest()

    def update(self, part: bytes) -> None:
        """Add the next part."""
        if self._expected is not None:
            self._digest.update(part)

    def check(self, name: str) -> None:
        """Raise CorruptTableError if the text does not match the checksum in its first part."""
        if self._expected is not None and self.checksum != self._expected:
            raise CorruptTableError(f"{name}: the content does not match its checksum; {REPAIR_ADVICE}")


def _seal(text: bytes, place: Place | None, rest: Sequence[bytes] = ()) -> tuple[bytes, str | None]:
    if place is None:
        return text, None
    verification = Verification(text, place)
    for part in rest:
        verification.update(part)
    checksum = verification.checksum
    return b"".join([text[: place[0]], checksum.encode(), text[place[1] :]]), checksum
