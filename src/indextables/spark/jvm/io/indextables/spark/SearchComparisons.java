package io.indextables.spark;

import org.apache.spark.sql.catalyst.expressions.ApplyFunctionExpression;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.types.DataTypes;
import scala.runtime.AbstractPartialFunction;

/**
 * Turns a search into {@code search = 1}. Spark 4.0 offers a table comparisons of a function's value, but not a function
 * that is itself the condition, as later releases do.
 */
final class SearchComparisons extends Rule<LogicalPlan> {
  private static final int TRUE = 1;

  static boolean areNeeded(String sparkVersion) {
    return sparkVersion.startsWith("4.0.");
  }

  /** Whether a value that a search is compared with stands for its being true. */
  static boolean isTrue(Object value) {
    return Integer.valueOf(TRUE).equals(value);
  }

  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    return plan.transformAllExpressions(new Compared());
  }

  private static final class Compared extends AbstractPartialFunction<Expression, Expression> {
    private static final long serialVersionUID = 1L;

    @Override
    public boolean isDefinedAt(Expression expression) {
      return expression instanceof ApplyFunctionExpression call
          && call.function() instanceof SearchFunction.Bound search
          && !search.asNumber();
    }

    @Override
    public Expression apply(Expression expression) {
      ApplyFunctionExpression call = (ApplyFunctionExpression) expression;
      SearchFunction.Bound search = (SearchFunction.Bound) call.function();
      return new EqualTo(new ApplyFunctionExpression(search.number(), call.children()), new Literal(TRUE, DataTypes.IntegerType));
    }
  }
}
