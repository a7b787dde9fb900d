"""What to do about an error of a store, where its message does not say."""

from __future__ import annotations

from typing import Final

from indextables.errors import IndexTablesError, StorageError

_METADATA: Final = ("169.254.169.254", "169.254.170.2", "metadata.google.internal")
"""Where the libraries of clouds ask for credentials if there are none in settings or the environment."""

_ADVICE: Final = (
    "No credentials are set, so the machine was asked for its own. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or "
    "AZURE_STORAGE_ACCOUNT_KEY in the environment, or give --set aws.accessKey=... --set aws.secretKey=... or --set "
    "azure.accountKey=..."
)


def advice(error: IndexTablesError) -> list[str]:
    """Return lines to print after the message of an error.

    >>> advice(StorageError("error performing PUT http://169.254.169.254/latest/api/token"))[0][:22]
    'No credentials are set'
    """
    if isinstance(error, StorageError) and any(host in str(error) for host in _METADATA):
        return [_ADVICE]
    return []
