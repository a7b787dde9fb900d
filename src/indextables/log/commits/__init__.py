"""Commits: making a change the next version of the table.

Read the modules in this order:

- `loop`: computes the change on the newest snapshot and publishes it, until it succeeds;
- `checkpoints`: writes a state or checkpoint on demand, and after every so many commits.
"""

from indextables.log.commits.checkpoints import Checkpointed, checkpoint, writes_json
from indextables.log.commits.loop import ENGINE, Committed, commit

__all__ = ["ENGINE", "Checkpointed", "Committed", "checkpoint", "commit", "writes_json"]
