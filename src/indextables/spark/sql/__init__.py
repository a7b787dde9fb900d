"""The SQL commands: their grammar, what each does, and how their rows reach Spark."""

from indextables.spark.sql.grammar import parse_command
from indextables.spark.sql.running import run_command
from indextables.spark.sql.statements import Statement, TableName

__all__ = ["Statement", "TableName", "parse_command", "run_command"]
