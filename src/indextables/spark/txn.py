"""The options of a write that is one batch of a stream: `txnAppId` and `txnVersion`, each number written once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from indextables.errors import ConfigError

APPLICATION: Final = "txnAppId"
NUMBER: Final = "txnVersion"
_MAX_NUMBER: Final = (1 << 63) - 1


def take_txn(options: Mapping[str, str]) -> tuple[tuple[str, int] | None, dict[str, str]]:
    """Return the application and the number of a write, if its options name them, and the other options.

    >>> take_txn({"txnAppId": "loader", "TXNVERSION": "7", "path": "/t"})
    (('loader', 7), {'path': '/t'})
    >>> take_txn({"txnAppId": "loader"})
    Traceback (most recent call last):
        ...
    indextables.errors.ConfigError: txnAppId and txnVersion go together: the name of the application that writes, and \
the number of this write in it
    """
    names = {APPLICATION.lower(), NUMBER.lower()}
    given = {key.lower(): value for key, value in options.items() if key.lower() in names}
    others = {key: value for key, value in options.items() if key.lower() not in names}
    if not given:
        return None, others
    application, number = given.get(APPLICATION.lower()), given.get(NUMBER.lower())
    if not application or number is None:
        raise ConfigError(
            f"{APPLICATION} and {NUMBER} go together: the name of the application that writes, and the number of this "
            "write in it"
        )
    if not (number.isascii() and number.isdecimal() and int(number) <= _MAX_NUMBER):
        raise ConfigError(
            f"{NUMBER} is {number!r}; it takes a whole number that grows from 0, such as the id of the batch"
        )
    return (application, int(number)), others
