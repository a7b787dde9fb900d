"""The metrics of the scan of a query, as Spark has them in its plan."""

from __future__ import annotations

from typing import Any


def figures_of(frame: Any) -> dict[str, int]:
    """Run a query, and return the metrics of its scan."""
    rows = frame.collect()
    found: dict[str, int] = {}
    pending = [frame._jdf.queryExecution().executedPlan()]
    while pending:
        plan = pending.pop()
        if plan.getClass().getSimpleName() == "AdaptiveSparkPlanExec":
            pending.append(plan.executedPlan())
        children = plan.children().iterator()
        while children.hasNext():
            pending.append(children.next())
        metrics = plan.metrics().iterator()
        if plan.getClass().getSimpleName() == "BatchScanExec":
            while metrics.hasNext():
                metric = metrics.next()
                found[metric._1()] = metric._2().value()
    return {"rows": len(rows), **found}
