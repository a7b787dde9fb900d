"""The SQL commands: their grammar, what each of them does, and the form of their rows."""

from indextables.spark.sql.altering import run_alter
from indextables.spark.sql.cluster import Cluster, Executor, Job, Place
from indextables.spark.sql.deleting import run_delete
from indextables.spark.sql.grammar import parse_command
from indextables.spark.sql.jobs import finish_job, job_task_schema, job_tasks, run_job_task
from indextables.spark.sql.rows import rows_answer
from indextables.spark.sql.running import run_command
from indextables.spark.sql.statements import EmptyTrash, Statement, TableName
from indextables.spark.sql.upkeep_steps import run_upkeep_step

__all__ = [
    "Cluster",
    "EmptyTrash",
    "Executor",
    "Job",
    "Place",
    "Statement",
    "TableName",
    "finish_job",
    "job_task_schema",
    "job_tasks",
    "parse_command",
    "rows_answer",
    "run_alter",
    "run_command",
    "run_delete",
    "run_job_task",
    "run_upkeep_step",
]
