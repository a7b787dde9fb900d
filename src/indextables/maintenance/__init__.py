"""What keeps a table in shape: operations that change which files live without writing rows."""

from indextables.maintenance.partitions import drop_partitions

__all__ = ["drop_partitions"]
