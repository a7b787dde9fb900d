package io.indextables.spark;

import org.apache.spark.sql.catalyst.expressions.ApplyFunctionExpression;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.Command;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.SparkStrategy;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;
import scala.collection.immutable.List$;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** Plans nothing. It checks the optimized plan, in which a search function remains only if it was not pushed down. */
final class UnpushedSearchCheck extends SparkStrategy {
  @Override
  public Seq<SparkPlan> apply(LogicalPlan plan) {
    check(plan);
    return List$.MODULE$.empty();
  }

  private static void check(LogicalPlan plan) {
    if (plan instanceof DataSourceV2ScanRelation || plan instanceof Command) {
      return; // the conditions of these were pushed down, or will be
    }
    CollectionConverters.asJava(plan.expressions()).forEach(UnpushedSearchCheck::check);
    CollectionConverters.asJava(plan.children()).forEach(UnpushedSearchCheck::check);
  }

  private static void check(Expression expression) {
    if (expression instanceof ApplyFunctionExpression call && call.function() instanceof SearchFunction.Bound search) {
      throw SearchFunction.notPushed(
          search.name().toUpperCase(java.util.Locale.ROOT) + " of " + call.children().head().sql());
    }
    CollectionConverters.asJava(expression.children()).forEach(UnpushedSearchCheck::check);
  }
}
