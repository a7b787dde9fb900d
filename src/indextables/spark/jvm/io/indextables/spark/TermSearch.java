package io.indextables.spark;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.ExpressionInfo;
import org.apache.spark.sql.catalyst.expressions.FunctionTableSubqueryArgumentExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.errors.QueryCompilationErrors;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructType;
import scala.Function1;
import scala.Option;
import scala.Tuple3;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * {@code indextables_search_many('logs', 'message', TABLE(SELECT term FROM terms))}: the rows of a table that any of many
 * terms finds, each with the term, by one scan. Spark runs the query of the terms when it plans the scan.
 */
final class TermSearch {
  private static final String NAME = "indextables_search_many";
  private static final String USAGE =
      NAME + "(table, column, terms) takes a table's name or path and a column, both as text, and the terms: "
          + "TABLE(SELECT term FROM ...), a query of one column of text, or array('...', '...')";

  private TermSearch() {}

  static void inject(SparkSessionExtensions extensions) {
    ExpressionInfo info =
        new ExpressionInfo(TermSearch.class.getName(), null, NAME, USAGE, "", "", "", "table_funcs", "", "", "java_udf");
    Function1<Seq<Expression>, LogicalPlan> builder = TermSearch::checkedPlan;
    extensions.injectTableFunction(new Tuple3<>(new FunctionIdentifier(NAME), info, builder));
  }

  /** Gives errors a condition, unlike {@link Failures}: Spark adds the call's place to them, and Python looks it up. */
  private static LogicalPlan checkedPlan(Seq<Expression> arguments) {
    try {
      return plan(CollectionConverters.asJava(arguments));
    } catch (Exception e) {
      throw Failures.unchecked(
          QueryCompilationErrors.functionCannotProcessInputError(
              new SearchFunction(NAME), arguments, new UnsupportedOperationException(e.getMessage())));
    }
  }

  private static LogicalPlan plan(List<Expression> arguments) {
    if (arguments.size() != 3) {
      throw Failures.analysis(USAGE);
    }
    TableRef ref = table(text(arguments.get(0)));
    Description description = Description.of(ref);
    TermsTable table =
        new TermsTable(ref.atVersion(description.version()), description.schema(), text(arguments.get(1)), terms(arguments.get(2)));
    return DataSourceV2Relation.create(table, Option.empty(), Option.empty());
  }

  /** Returns a table by a name of the session's catalog, or by its path, which has a slash or a colon. */
  private static TableRef table(String name) {
    if (name.contains("/") || name.contains(":")) {
      return TableRef.of(name);
    }
    try {
      Seq<String> parts =
          ((org.apache.spark.sql.classic.SparkSession) SparkSession.active())
              .sessionState().sqlParser().parseMultipartIdentifier(name);
      return TableRef.of(NamedTable.location(CollectionConverters.asJava(parts)));
    } catch (Exception e) {
      throw Failures.unchecked(e);
    }
  }

  private static String text(Expression argument) {
    Object value = argument.foldable() && argument.dataType() instanceof StringType ? argument.eval(null) : null;
    if (value == null) {
      throw Failures.analysis(USAGE);
    }
    return value.toString();
  }

  private static Terms terms(Expression argument) {
    if (argument instanceof FunctionTableSubqueryArgumentExpression query) {
      StructType columns = query.plan().schema();
      if (columns.length() != 1 || !(columns.apply(0).dataType() instanceof StringType)) {
        throw Failures.analysis("the terms have the columns " + columns.toDDL() + "; " + USAGE);
      }
      return new OfQuery(query.plan());
    }
    DataType type = argument.dataType();
    if (argument.foldable() && type instanceof ArrayType array && array.elementType() instanceof StringType) {
      return new OfArray((ArrayData) argument.eval(null));
    }
    throw Failures.analysis(USAGE);
  }

  /** The terms, which are looked up when the scan is planned. */
  interface Terms {
    List<String> collected();
  }

  private record OfArray(ArrayData values) implements Terms {
    @Override
    public List<String> collected() {
      List<String> terms = new ArrayList<>();
      for (int i = 0; values != null && i < values.numElements(); i++) {
        if (!values.isNullAt(i)) {
          terms.add(values.getUTF8String(i).toString());
        }
      }
      return terms;
    }
  }

  private record OfQuery(LogicalPlan plan) implements Terms {
    @Override
    public List<String> collected() {
      Dataset<?> rows = Dataset.ofRows((org.apache.spark.sql.classic.SparkSession) SparkSession.active(), plan);
      List<String> terms = new ArrayList<>();
      for (InternalRow row : rows.queryExecution().executedPlan().executeCollect()) {
        if (!row.isNullAt(0)) {
          terms.add(row.getUTF8String(0).toString());
        }
      }
      return terms;
    }
  }
}
