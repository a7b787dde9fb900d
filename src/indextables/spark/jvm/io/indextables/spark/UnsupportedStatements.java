package io.indextables.spark;

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.MergeIntoTable;
import org.apache.spark.sql.catalyst.plans.logical.UpdateTable;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;

/** Changes nothing. It refuses UPDATE and MERGE INTO of our tables with an error that names what works. */
final class UnsupportedStatements extends Rule<LogicalPlan> {
  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    if (plan instanceof UpdateTable update && isOurs(update.table())) {
      throw refused("UPDATE");
    }
    if (plan instanceof MergeIntoTable merge && isOurs(merge.targetTable())) {
      throw refused("MERGE INTO");
    }
    return plan;
  }

  private static boolean isOurs(LogicalPlan plan) {
    if (plan instanceof DataSourceV2Relation relation) {
      return relation.table() instanceof SearchedTable;
    }
    return plan.children().size() == 1 && isOurs(plan.children().head());
  }

  private static RuntimeException refused(String statement) {
    return Failures.analysis(
        statement + " is not supported for tables of indextables. In Python, Table.upsert(rows, on=[...]) replaces rows by "
            + "key in one commit; in SQL, DELETE FROM the old rows and INSERT INTO the new ones");
  }
}
