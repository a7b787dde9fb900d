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
    if (plan.isStreaming() && plan.children().isEmpty()) {
      checkColumns(plan);
    }
    CollectionConverters.asJava(plan.expressions()).forEach(UnpushedSearchCheck::check);
    CollectionConverters.asJava(plan.children()).forEach(UnpushedSearchCheck::check);
  }

  /** If a query names one of the columns that the index computes, Spark adds all of them to the columns of a stream. */
  private static void checkColumns(LogicalPlan stream) {
    if (CollectionConverters.asJava(stream.output()).stream().anyMatch(column -> column.name().equals(MetadataColumns.ALL))) {
      throw Failures.analysis(
          "_score and _snippet are columns of a stream only if the option columns names them, as in "
              + "option(\"columns\", \"id, _score\")");
    }
  }

  private static void check(Expression expression) {
    if (expression instanceof ApplyFunctionExpression call && call.function() instanceof SearchFunction.Bound search) {
      throw SearchFunction.notPushed(
          search.name().toUpperCase(java.util.Locale.ROOT) + " of " + call.children().head().sql());
    }
    CollectionConverters.asJava(expression.children()).forEach(UnpushedSearchCheck::check);
  }
}
