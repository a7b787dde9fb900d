package io.indextables.spark;

import java.util.Arrays;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.ShortType;

/**
 * The bucket of a value. Python computes the same for keys of aggregates that are pushed down (table/grouping/bucket_keys.py). Both
 * must agree bit for bit.
 */
final class BucketOf implements ScalarFunction<Object> {
  static final long DAY_MICROS = 86_400_000_000L;
  private static final long serialVersionUID = 1L;

  private final String name;
  private final String canonicalName;
  private final DataType[] types;
  private final DataType result;

  BucketOf(String name, String canonicalName, DataType[] types, DataType result) {
    this.name = name;
    this.canonicalName = canonicalName;
    this.types = types;
    this.result = result;
  }

  @Override
  public DataType[] inputTypes() {
    return types.clone();
  }

  @Override
  public DataType resultType() {
    return result;
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public String canonicalName() {
    return canonicalName;
  }

  @Override
  public String toString() {
    return name; // how plans show it
  }

  @Override
  public Object produceResult(InternalRow arguments) {
    if (arguments.isNullAt(0)) {
      return null;
    }
    return switch (name) {
      case BucketFunction.HISTOGRAM -> {
        double width = arguments.getDouble(1);
        double offset = arguments.getDouble(2);
        yield Math.floor((number(arguments) - offset) / width) * width + offset;
      }
      case BucketFunction.DATE_HISTOGRAM -> start(arguments);
      default -> range(arguments);
    };
  }

  private Object start(InternalRow arguments) {
    boolean isDate = types[0] instanceof DateType;
    long unit = isDate ? DAY_MICROS : 1;
    long step = arguments.getLong(1) / unit;
    long offset = arguments.getLong(2) / unit;
    long value = isDate ? arguments.getInt(0) : arguments.getLong(0);
    long start = Math.addExact(Math.multiplyExact(Math.floorDiv(Math.subtractExact(value, offset), step), step), offset);
    if (isDate) {
      return Math.toIntExact(start);
    }
    return start;
  }

  /** NaN is above every number, as it is for Spark. */
  private Object range(InternalRow arguments) {
    double number = number(arguments);
    for (int i = 1; i < types.length; i += 3) {
      boolean isAbove = arguments.isNullAt(i + 1) || number >= arguments.getDouble(i + 1) || Double.isNaN(number);
      if (isAbove && (arguments.isNullAt(i + 2) || number < arguments.getDouble(i + 2))) {
        return arguments.getUTF8String(i);
      }
    }
    return null;
  }

  private double number(InternalRow arguments) {
    DataType type = types[0];
    if (type instanceof ByteType) {
      return arguments.getByte(0);
    } else if (type instanceof ShortType) {
      return arguments.getShort(0);
    } else if (type instanceof IntegerType) {
      return arguments.getInt(0);
    } else if (type instanceof LongType) {
      return arguments.getLong(0);
    } else if (type instanceof FloatType) {
      return arguments.getFloat(0);
    } else if (type instanceof DoubleType) {
      return arguments.getDouble(0);
    }
    DecimalType decimal = (DecimalType) type;
    return arguments.getDecimal(0, decimal.precision(), decimal.scale()).toDouble();
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof BucketOf that
        && that.name.equals(name)
        && Arrays.equals(that.types, types)
        && that.result.equals(result);
  }

  @Override
  public int hashCode() {
    return name.hashCode() + 31 * Arrays.hashCode(types);
  }
}
