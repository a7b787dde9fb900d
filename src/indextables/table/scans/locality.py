"""Which host reads which split, so that a split goes to the host that has its index cached.

Rendezvous hashing: every host has a weight for every split, and the host with the largest weight gets it. When a host
leaves, only its own splits move; when one joins, it takes a share from each of the others, and no other split moves.
All processes compute the same assignment from the names alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

_Hashes: TypeAlias = NDArray[np.uint64]

_MIX: Final = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))
"""The shifts and factors of the finalizer of SplitMix64, which spreads each bit of its input over all of the output."""


def assign_hosts(keys: Sequence[str], hosts: Sequence[str]) -> list[str]:
    """Return the host of each key. The order of the hosts does not count.

    >>> assign_hosts(["a.split", "b.split", "c.split"], ["host1", "host2"])
    ['host1', 'host1', 'host2']
    >>> assign_hosts(["a.split", "b.split", "c.split"], ["host2", "host1"])
    ['host1', 'host1', 'host2']
    """
    names = sorted(set(hosts))
    if not names:
        raise ValueError("there is no host to assign keys to")
    of_hosts, of_keys = _hashes(names), _hashes(keys)
    best = np.zeros(len(keys), dtype=np.int64)
    weights = _mix(of_keys ^ of_hosts[0])
    for number in range(1, len(names)):  # one host at a time: memory is bounded by the number of keys
        candidates = _mix(of_keys ^ of_hosts[number])
        better = candidates > weights
        best[better] = number
        weights = np.maximum(weights, candidates)
    return [names[number] for number in best]


def _hashes(texts: Sequence[str]) -> _Hashes:
    digests = b"".join(hashlib.blake2b(text.encode(), digest_size=8).digest() for text in texts)
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)


def _mix(values: _Hashes) -> _Hashes:
    for shift, factor in _MIX:
        values = (values ^ (values >> np.uint64(shift))) * np.uint64(factor)  # modulo 2 ** 64
    mixed: _Hashes = values ^ (values >> np.uint64(31))
    return mixed
