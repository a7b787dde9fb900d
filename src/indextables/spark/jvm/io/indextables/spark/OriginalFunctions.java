package io.indextables.spark;

import java.util.List;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute;
import org.apache.spark.sql.catalyst.expressions.ApplyFunctionExpression;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.ExpressionInfo;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.errors.QueryCompilationErrors;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import scala.Function1;
import scala.Tuple3;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The functions of IndexTables for Scala: {@code tantivy4spark_textsearch(column, query)} and the like. Those whose name ends
 * in {@code all} take the query alone and search every column. Each becomes the call that the operator of its name makes.
 */
final class OriginalFunctions {
  private static final String PREFIX = "tantivy4spark_";
  private static final String ALL = "all";

  private OriginalFunctions() {}

  static void inject(SparkSessionExtensions extensions) {
    for (String operator : SearchFunction.NAMES) {
      inject(extensions, PREFIX + operator, operator, false);
      inject(extensions, PREFIX + operator + ALL, operator, true);
    }
    inject(extensions, "indexquery" + ALL, "indexquery", true);
  }

  private static void inject(SparkSessionExtensions extensions, String name, String operator, boolean ofAll) {
    String usage = name + (ofAll ? "(query)" : "(column, query)") + " - whether the row matches the query";
    ExpressionInfo info =
        new ExpressionInfo(
            SearchFunction.class.getName(), null, name, usage, "", "", "", "predicate_funcs", "", "", "java_udf");
    Function1<Seq<Expression>, Expression> builder =
        arguments -> call(name, operator, ofAll, CollectionConverters.asJava(arguments));
    extensions.injectFunction(new Tuple3<>(new FunctionIdentifier(name), info, builder));
  }

  private static Expression call(String name, String operator, boolean ofAll, List<Expression> arguments) {
    if (arguments.size() != (ofAll ? 1 : 2)) {
      throw misused(name, ofAll, arguments);
    }
    Expression query = arguments.get(arguments.size() - 1);
    Expression column = ofAll ? UnresolvedAttribute.quoted(MetadataColumns.ALL) : arguments.get(0);
    StructType types =
        new StructType()
            .add("column", ofAll ? DataTypes.StringType : column.dataType())
            .add("query", query.dataType());
    ScalarFunction<?> function;
    try {
      function = (ScalarFunction<?>) new SearchFunction(operator).bind(types);
    } catch (UnsupportedOperationException e) {
      throw misused(name, ofAll, arguments);
    }
    return new ApplyFunctionExpression(
        function, CollectionConverters.asScala(List.of(column, query)).toSeq());
  }

  /** Has an error condition, unlike {@link Failures}: Spark adds the call's place to it, and Python then looks it up. */
  private static RuntimeException misused(String name, boolean ofAll, List<Expression> arguments) {
    String reason = name + " takes " + (ofAll ? "a query string" : "a column and a query string");
    return Failures.unchecked(
        QueryCompilationErrors.functionCannotProcessInputError(
            new SearchFunction(name),
            CollectionConverters.asScala(arguments).toSeq(),
            new UnsupportedOperationException(reason)));
  }
}
