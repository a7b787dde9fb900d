package io.indextables.spark;

import java.util.List;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.GeneralScalarExpression;
import org.apache.spark.sql.connector.expressions.Literal;
import org.apache.spark.sql.connector.expressions.UserDefinedScalarFunc;

/** A search among the conditions that Spark pushes: the function itself, as a condition, or compared with a number. */
record SearchCondition(UserDefinedScalarFunc function, boolean isTrue) {
  private static final String CONDITION = "BOOLEAN_EXPRESSION";

  /** The search that an expression is, or null. */
  static SearchCondition of(Expression expression) {
    if (expression instanceof UserDefinedScalarFunc function && SearchFunction.isOurs(function.canonicalName())) {
      return new SearchCondition(function, true);
    }
    if (!(expression instanceof GeneralScalarExpression scalar)) {
      return null;
    }
    List<Expression> operands = List.of(scalar.children());
    if (scalar.name().equals(CONDITION)) {
      return of(operands.get(0));
    }
    boolean isEqual = scalar.name().equals("=");
    if (operands.size() != 2 || !(isEqual || scalar.name().equals("<>"))) {
      return null;
    }
    int literal = operands.get(0) instanceof Literal<?> ? 0 : 1;
    SearchCondition search = operands.get(literal) instanceof Literal<?> ? of(operands.get(1 - literal)) : null;
    return search != null && SearchComparisons.isTrue(((Literal<?>) operands.get(literal)).value())
        ? new SearchCondition(search.function(), isEqual)
        : null;
  }
}
