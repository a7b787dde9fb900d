package io.indextables.spark;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.ApplyFunctionExpression;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.ExpressionInfo;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.connector.catalog.functions.BoundFunction;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;
import org.apache.spark.sql.errors.QueryCompilationErrors;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.NumericType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Function1;
import scala.Tuple3;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The functions of IndexTables for Scala that put values into buckets, for GROUP BY. Each call becomes a function of the
 * column and of constants, which Spark offers to push down as the key of an aggregate; see {@link BucketOf}.
 */
record BucketFunction(String name, String parameters) implements UnboundFunction {
  static final String HISTOGRAM = "indextables_histogram";
  static final String DATE_HISTOGRAM = "indextables_date_histogram";
  static final String RANGE = "indextables_range";

  private static final String CATALOG = IndexTablesCatalog.NAME + ".";
  private static final List<BucketFunction> ALL =
      List.of(
          new BucketFunction(HISTOGRAM, "column, interval[, offset]"),
          new BucketFunction(DATE_HISTOGRAM, "column, 'interval'[, 'offset']"),
          new BucketFunction(RANGE, "column, 'name', from, to[, 'name', from, to ...]"));
  private static final Pattern DURATION = Pattern.compile("(-?\\d{1,9})\\s*(ms|s|m|h|d)");
  private static final Map<String, Long> MICROS =
      Map.of("ms", 1_000L, "s", 1_000_000L, "m", 60_000_000L, "h", 3_600_000_000L, "d", BucketOf.DAY_MICROS);

  static boolean isOurs(String canonicalName) {
    return ALL.stream().anyMatch(function -> canonicalName.equals(CATALOG + function.name));
  }

  static void inject(SparkSessionExtensions extensions) {
    for (BucketFunction function : ALL) {
      String usage = function.name + "(" + function.parameters + ") - the bucket of the column's value";
      ExpressionInfo info =
          new ExpressionInfo(
              BucketOf.class.getName(), null, function.name, usage, "", "", "", "misc_funcs", "", "", "java_udf");
      Function1<Seq<Expression>, Expression> builder =
          arguments -> function.call(CollectionConverters.asJava(arguments));
      extensions.injectFunction(new Tuple3<>(new FunctionIdentifier(function.name), info, builder));
    }
  }

  @Override
  public String description() {
    return name + "(" + parameters + ")";
  }

  @Override
  public BoundFunction bind(StructType arguments) {
    throw new UnsupportedOperationException(description() + " is a function of the session");
  }

  private Expression call(List<Expression> arguments) {
    try {
      if (arguments.size() < 2) {
        throw new IllegalArgumentException("it takes (" + parameters + ")");
      }
      Expression column = arguments.get(0);
      List<Expression> rest = arguments.subList(1, arguments.size());
      List<Expression> constants =
          switch (name) {
            case HISTOGRAM -> numbers(column.dataType(), rest);
            case DATE_HISTOGRAM -> times(column.dataType(), rest);
            default -> ranges(column.dataType(), rest);
          };
      DataType result =
          switch (name) {
            case HISTOGRAM -> DataTypes.DoubleType;
            case DATE_HISTOGRAM -> column.dataType();
            default -> DataTypes.StringType;
          };
      List<Expression> children = new ArrayList<>(List.of(column));
      children.addAll(constants);
      DataType[] types = children.stream().map(Expression::dataType).toArray(DataType[]::new);
      return new ApplyFunctionExpression(
          new BucketOf(name, CATALOG + name, types, result), CollectionConverters.asScala(children).toSeq());
    } catch (IllegalArgumentException e) {
      throw misused(arguments, e.getMessage());
    }
  }

  private static List<Expression> numbers(DataType column, List<Expression> arguments) {
    requireNumbers(column);
    checkCount(arguments, "HAVING count(*) >= n");
    Double width = number(arguments.get(0), "the interval");
    if (width == null || !(width > 0) || width.isInfinite()) {
      throw new IllegalArgumentException("the interval must be a number above zero");
    }
    Double offset = arguments.size() < 2 ? Double.valueOf(0) : number(arguments.get(1), "the offset");
    return List.of(literal(width), literal(offset == null ? 0 : offset));
  }

  private static List<Expression> times(DataType column, List<Expression> arguments) {
    boolean isDate = column.equals(DataTypes.DateType);
    if (!isDate && !column.equals(DataTypes.TimestampType) && !column.equals(DataTypes.TimestampNTZType)) {
      throw new IllegalArgumentException("the column must be a date or a timestamp, and is " + column.simpleString());
    }
    checkCount(arguments, "HAVING count(*) >= n");
    Long width = micros(arguments.get(0), "the interval");
    Long offset = arguments.size() < 2 ? Long.valueOf(0) : micros(arguments.get(1), "the offset");
    if (width == null || width <= 0) {
      throw new IllegalArgumentException("the interval must be above zero, as in '1d', '15m' or '500ms'");
    }
    offset = offset == null ? 0 : offset;
    if (isDate && (width % BucketOf.DAY_MICROS != 0 || offset % BucketOf.DAY_MICROS != 0)) {
      throw new IllegalArgumentException("the interval and the offset of dates must be whole days, as in '7d'");
    }
    return List.of(
        Literal.create(width, DataTypes.LongType), Literal.create(offset, DataTypes.LongType));
  }

  private static List<Expression> ranges(DataType column, List<Expression> arguments) {
    requireNumbers(column);
    if (arguments.size() % 3 != 0) {
      throw new IllegalArgumentException("each range takes a name, its least value and the value at which it ends");
    }
    List<Expression> constants = new ArrayList<>();
    List<double[]> taken = new ArrayList<>();
    for (int i = 0; i < arguments.size(); i += 3) {
      UTF8String rangeName = text(arguments.get(i), "the name of a range");
      Double from = number(arguments.get(i + 1), "the start of a range");
      Double to = number(arguments.get(i + 2), "the end of a range");
      if (rangeName == null) {
        throw new IllegalArgumentException("the name of a range is null");
      }
      double low = from == null ? Double.NEGATIVE_INFINITY : from;
      double high = to == null ? Double.POSITIVE_INFINITY : to;
      if (low >= high) {
        throw new IllegalArgumentException("range '" + rangeName + "' ends before it starts");
      }
      if (taken.stream().anyMatch(other -> low < other[1] && other[0] < high)) {
        throw new IllegalArgumentException("range '" + rangeName + "' overlaps one before it; a value has one bucket");
      }
      taken.add(new double[] {low, high});
      constants.add(Literal.create(rangeName, DataTypes.StringType));
      constants.add(Literal.create(from, DataTypes.DoubleType));
      constants.add(Literal.create(to, DataTypes.DoubleType));
    }
    return constants;
  }

  /** The original's last argument, the least number of rows of a bucket, is no property of a value. */
  private static void checkCount(List<Expression> arguments, String instead) {
    if (arguments.size() > 2) {
      throw new IllegalArgumentException("it takes no least number of rows; write " + instead);
    }
  }

  private static void requireNumbers(DataType column) {
    if (!(column instanceof NumericType)) {
      throw new IllegalArgumentException("the column must be a number, and is " + column.simpleString());
    }
  }

  private static Expression literal(double number) {
    return Literal.create(number, DataTypes.DoubleType);
  }

  private static Double number(Expression argument, String what) {
    Object value = constant(argument, what);
    if (value == null) {
      return null;
    }
    double number;
    if (value instanceof Decimal decimal) {
      number = decimal.toDouble();
    } else if (value instanceof Number other && argument.dataType() instanceof NumericType) {
      number = other.doubleValue();
    } else {
      throw new IllegalArgumentException(what + " must be a number");
    }
    if (Double.isNaN(number) || Double.isInfinite(number)) {
      throw new IllegalArgumentException(what + " must be finite; NULL leaves it open");
    }
    return number;
  }

  private static Long micros(Expression argument, String what) {
    UTF8String text = text(argument, what);
    if (text == null) {
      return null;
    }
    Matcher match = DURATION.matcher(text.toString().trim());
    if (!match.matches()) {
      throw new IllegalArgumentException(
          what + " is '" + text + "'; it takes a whole number and ms, s, m, h or d, as in '1d' or '15m'");
    }
    return Long.parseLong(match.group(1)) * MICROS.get(match.group(2));
  }

  private static UTF8String text(Expression argument, String what) {
    Object value = constant(argument, what);
    if (value != null && !(argument.dataType() instanceof StringType)) {
      throw new IllegalArgumentException(what + " must be text");
    }
    return (UTF8String) value;
  }

  private static Object constant(Expression argument, String what) {
    if (!argument.foldable()) {
      throw new IllegalArgumentException(what + " must be a constant");
    }
    return argument.eval(InternalRow.empty());
  }

  private RuntimeException misused(List<Expression> arguments, String reason) {
    return Failures.unchecked(
        QueryCompilationErrors.functionCannotProcessInputError(
            this, CollectionConverters.asScala(arguments).toSeq(), new UnsupportedOperationException(reason)));
  }
}
