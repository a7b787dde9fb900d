package io.indextables.spark;

import java.util.List;
import java.util.Locale;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.ApplyFunctionExpression;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.connector.catalog.functions.BoundFunction;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructType;

/** The function of a search operator. Spark never evaluates it, but pushes it down to the index. */
record SearchFunction(String name) implements UnboundFunction {
  static final List<String> NAMES = List.of("textsearch", "fieldmatch", "indexquery");
  private static final String CATALOG = IndexTablesCatalog.NAME + ".";

  static boolean isOurs(String canonicalName) {
    return canonicalName.startsWith(CATALOG) && NAMES.contains(canonicalName.substring(CATALOG.length()));
  }

  static boolean isCall(Expression expression) {
    return expression instanceof ApplyFunctionExpression call && call.function() instanceof Bound;
  }

  static RuntimeException notPushed(String what) {
    return Failures.analysis(
        what + " could not be handed to the index: a search must stand in the WHERE of a query directly on an "
            + "indextables table, as a column, an operator and a literal, joined to other conditions by AND, or by OR "
            + "to conditions that the index can decide");
  }

  @Override
  public String description() {
    return name + "(column, query): whether the column of the row matches the query";
  }

  @Override
  public BoundFunction bind(StructType arguments) {
    if (arguments.length() != 2 || !(arguments.fields()[1].dataType() instanceof StringType)) {
      throw new UnsupportedOperationException(name + " takes a column and a query string");
    }
    return new Bound(name, arguments.fields()[0].dataType());
  }

  /** Binds to the column without a cast, which would hide the column from the index. */
  record Bound(String name, DataType column) implements ScalarFunction<Boolean> {
    @Override
    public DataType[] inputTypes() {
      return new DataType[] {column, DataTypes.StringType};
    }

    @Override
    public DataType resultType() {
      return DataTypes.BooleanType;
    }

    @Override
    public String canonicalName() {
      return CATALOG + name;
    }

    @Override
    public String toString() {
      return canonicalName(); // how plans show it
    }

    /** The optimizer asks with nulls, to learn whether an outer join can be an inner one. */
    @Override
    public Boolean produceResult(InternalRow arguments) {
      if (arguments.isNullAt(0) || arguments.isNullAt(1)) {
        return null;
      }
      throw notPushed(name.toUpperCase(Locale.ROOT));
    }
  }
}
