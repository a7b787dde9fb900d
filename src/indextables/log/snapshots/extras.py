"""What a table remembers besides its files, metadata and protocol: it changes no answer, and must not be lost.

Files that a merge failed on, what a writer put beside the fields of a streaming batch, and actions of which this
release knows only the name. Version files are deleted once a state covers them, so a state carries all of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import orjson

from indextables.errors import CorruptTableError
from indextables.log.actions.model import Action, Extra, SkipFile, Txn, UnknownAction


@dataclass(frozen=True)
class Extras:
    """`skips` by the key of a live file, the newest each; `unknown` actions in order, one that is repeated once.

    >>> edit = Rest().edit()
    >>> edit.skip("a", SkipFile("a", 5, "damaged", "merge"))
    >>> edit.keep(UnknownAction("domain", {"x": 1}))
    >>> [type(action).__name__ for action in edit.done().actions()]
    ['SkipFile', 'UnknownAction']
    """

    skips: Mapping[str, SkipFile] = field(default_factory=dict)
    unknown: tuple[UnknownAction, ...] = ()
    txn_extra: Mapping[str, Extra] = field(default_factory=dict)

    def actions(self) -> Iterator[Action]:
        """What writes it down again, batches apart."""
        yield from self.skips.values()
        yield from self.unknown

    def batches(self, txns: Mapping[str, int]) -> list[Txn]:
        """The streaming batches with all that their writers said of them."""
        return [Txn(app, version, dict(self.txn_extra.get(app, {}))) for app, version in txns.items()]

    def edit(self) -> ExtrasEdit:
        return ExtrasEdit(self)


class ExtrasEdit:
    """The next version's rest in the making."""

    def __init__(self, base: Extras) -> None:
        self._skips = dict(base.skips)
        self._unknown = {_text(action): action for action in base.unknown}
        self._txn_extra = dict(base.txn_extra)

    def skip(self, key: str, action: SkipFile) -> None:
        self._skips[key] = action

    def removed(self, key: str) -> None:
        """The file lives no more, and nobody will try to merge it."""
        self._skips.pop(key, None)

    def batch(self, txn: Txn) -> None:
        self._txn_extra.pop(txn.app_id, None)
        if txn.extra:
            self._txn_extra[txn.app_id] = txn.extra

    def keep(self, action: UnknownAction) -> None:
        text = _text(action)
        self._unknown.pop(text, None)
        self._unknown[text] = action

    def done(self) -> Extras:
        return Extras(self._skips, tuple(self._unknown.values()), self._txn_extra)


def _text(action: UnknownAction) -> bytes:
    try:
        return orjson.dumps({action.name: action.body}, option=orjson.OPT_SORT_KEYS)
    except TypeError as reason:  # deeper than it may be, and so than it can be carried on
        raise CorruptTableError(
            f"the log has an action {action.name!r} that no state can hold: {reason}"
        ) from None
