package io.indextables.spark;

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.View;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.execution.command.AlterViewAsCommand;
import org.apache.spark.sql.execution.command.CreateViewCommand;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractPartialFunction;

/**
 * Makes {@code _score} and the other metadata columns visible through a temporary view, as they are through a subquery: a
 * DataFrame with a name for SQL should answer like the table. Spark itself removes the view's node in a later rule.
 */
final class TransparentViews extends Rule<LogicalPlan> {
  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    if (plan instanceof CreateViewCommand || plan instanceof AlterViewAsCommand) {
      return plan; // these commands record the views that they use
    }
    return plan.resolveOperatorsUp(new Unwrap());
  }

  private static final class Unwrap extends AbstractPartialFunction<LogicalPlan, LogicalPlan> {
    private static final long serialVersionUID = 1L;

    @Override
    public boolean isDefinedAt(LogicalPlan plan) {
      return plan instanceof View view
          && view.isTempView()
          && view.child().resolved()
          && CollectionConverters.asJava(view.child().metadataOutput()).stream()
              .anyMatch(column -> column.name().equals(MetadataColumns.ALL));
    }

    @Override
    public LogicalPlan apply(LogicalPlan plan) {
      return ((View) plan).child();
    }
  }
}
