"""IndexTables: search tables for Spark, and for plain Python.

>>> import indextables as it
>>> import pyarrow as pa
>>> it.write("memory://welcome", pa.table({"message": ["disk full", "all well"]}), text=["message"])
0
>>> it.open("memory://welcome").search("disk", columns=["message"]).column("message").to_pylist()
['disk full']
"""

from indextables.errors import IndexTablesError
from indextables.table import Table
from indextables.table import open_table as open  # noqa: A004 - it.open(path) is the word for it
from indextables.table import write_table as write

__version__ = "0.1.0"

__all__ = ["IndexTablesError", "Table", "__version__", "open", "write"]
