"""The output of the demo: sections, progress bars, tables of rows, and the time of each step."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar

from pyspark.sql import Row, SparkSession
from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.syntax import Syntax
from rich.table import Table

T = TypeVar("T")


def _console() -> Console:
    return Console(width=None if sys.stdout.isatty() else 120, highlight=False)


@dataclass
class Report:
    console: Console = field(default_factory=_console)
    steps: list[tuple[str, float]] = field(default_factory=list)

    def say(self, text: str) -> None:
        self.console.print(text)

    def title(self, text: str) -> None:
        self.console.print()
        self.console.rule(f"[bold]{text}", align="left", style="dim")

    def code(self, text: str, language: str) -> None:
        self.console.print(
            Syntax(text, language, theme="ansi_dark", background_color="default", word_wrap=True)
        )

    @contextmanager
    def step(self, what: str) -> Iterator[None]:
        started = time.perf_counter()
        yield
        self.steps.append((what, time.perf_counter() - started))

    def spark_job(self, spark: SparkSession, what: str, job: Callable[[], T]) -> T:
        """Run a function that starts Spark jobs, and show a bar of the finished tasks."""
        self.say(f"{what} ...")
        with (
            self.step(what),
            self._bar() as bar,
            ThreadPoolExecutor(1) as thread,
        ):
            shown = bar.add_task("working", total=None)
            running = thread.submit(job)
            while wait([running], timeout=0.2).not_done:
                done, total = _tasks(spark)
                bar.update(shown, completed=done, total=total or None)
            answer = running.result()
        self.say(f"[dim]  done in {self.steps[-1][1]:.1f} s")
        return answer

    def _bar(self) -> Progress:
        columns = (
            SpinnerColumn(),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("tasks"),
            TimeElapsedColumn(),
        )
        return Progress(*columns, console=self.console, transient=True, disable=not self.console.is_terminal)

    def sql(self, spark: SparkSession, what: str, query: str) -> list[Row]:
        """Show a query, run it, and show its rows."""
        self.title(what)
        self.code(query, "sql")
        with self.step(what):
            rows: list[Row] = spark.sql(query).collect()
        self.rows([row.asDict() for row in rows])
        self.say(f"[dim]{len(rows)} row{'' if len(rows) == 1 else 's'} in {self.steps[-1][1]:.2f} s")
        return rows

    def rows(self, rows: Sequence[dict[str, Any]]) -> None:
        if not rows:
            self.say("[dim]no rows")
            return
        table = Table(header_style="bold", box=None, pad_edge=False)
        for name in rows[0]:
            numbers = any(isinstance(row[name], int | float) for row in rows)
            table.add_column(name, justify="right" if numbers else "left", overflow="fold")
        for row in rows:
            table.add_row(*(self._cell(value) for value in row.values()))
        self.console.print(table)

    def _cell(self, value: Any) -> str:
        if value is None:
            return "[dim]null"
        if isinstance(value, float):
            return f"{value:,.2f}"
        if isinstance(value, int) and not isinstance(value, bool):
            return f"{value:,}"
        if isinstance(value, datetime):
            return f"{value:%Y-%m-%d %H:%M:%S}"
        opening, closing = ("[bold yellow]", "[/]") if self.console.is_terminal else ("*", "*")
        return escape(str(value)).replace("<b>", opening).replace("</b>", closing)


def _tasks(spark: SparkSession) -> tuple[int, int]:
    """Return the finished tasks and all tasks of the running stages."""
    tracker = spark.sparkContext.statusTracker()
    stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
    return sum(s.numCompletedTasks for s in stages if s), sum(s.numTasks for s in stages if s)
