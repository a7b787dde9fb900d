package io.indextables.spark;

import java.util.Locale;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.GeneralScalarExpression;
import org.apache.spark.sql.connector.expressions.Literal;
import org.apache.spark.sql.connector.expressions.UserDefinedScalarFunc;
import org.apache.spark.sql.connector.util.V2ExpressionSQLBuilder;

/** Pushed conditions as plans show them: in SQL, with searches and dates as a user would write them. */
final class PredicateSql extends V2ExpressionSQLBuilder {
  /** The comparison by which Spark marks a function that is a condition by itself. */
  private static final String CONDITION = "BOOLEAN_EXPRESSION";

  static String of(Expression predicate) {
    try {
      return new PredicateSql().build(predicate);
    } catch (IllegalArgumentException e) {
      return predicate.toString(); // a kind of expression that has no SQL
    }
  }

  @Override
  public String build(Expression expression) {
    if (expression instanceof GeneralScalarExpression scalar && scalar.name().equals(CONDITION)) {
      return build(scalar.children()[0]);
    }
    boolean isSearch =
        expression instanceof UserDefinedScalarFunc function && SearchFunction.isOurs(function.canonicalName());
    return isSearch ? search((UserDefinedScalarFunc) expression) : super.build(expression);
  }

  private String search(UserDefinedScalarFunc function) {
    String column = build(function.children()[0]);
    String operand = column.equals(MetadataColumns.ALL) ? "*" : column;
    return operand + " " + function.name().toUpperCase(Locale.ROOT) + " " + build(function.children()[1]);
  }

  /** Spark's own builder would show a date as its number of days. */
  @Override
  protected String visitLiteral(Literal<?> literal) {
    return new org.apache.spark.sql.catalyst.expressions.Literal(literal.value(), literal.dataType()).sql();
  }
}
