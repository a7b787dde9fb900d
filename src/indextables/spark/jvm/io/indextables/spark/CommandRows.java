package io.indextables.spark;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.read.LocalScan;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/** The rows of a command: one JSON array per line, in the answer itself or, if there are many, in a file that it names. */
record CommandRows(StructType readSchema, InternalRow[] rows) implements LocalScan {
  static CommandRows of(JsonNode answer) {
    StructType schema = (StructType) DataType.fromJson(answer.get("schema").asText());
    if (answer.has("rows")) {
      return new CommandRows(schema, parsed(schema, answer.get("rows").asText().lines()));
    }
    Path file = Path.of(answer.get("file").asText());
    try (Stream<String> lines = Files.lines(file)) {
      return new CommandRows(schema, parsed(schema, lines));
    } catch (IOException e) {
      throw new UncheckedIOException("cannot read the answer that Python left in " + file, e);
    } finally {
      delete(file);
    }
  }

  private static InternalRow[] parsed(StructType schema, Stream<String> lines) {
    return lines.map(line -> row(schema, Json.parse(line))).toArray(InternalRow[]::new);
  }

  private static InternalRow row(StructType schema, JsonNode values) {
    Object[] row = new Object[schema.length()];
    for (int i = 0; i < row.length; i++) {
      row[i] = value(schema.apply(i).dataType(), values.get(i));
    }
    return new GenericInternalRow(row);
  }

  private static Object value(DataType type, JsonNode value) {
    if (value.isNull()) {
      return null;
    }
    if (type.equals(DataTypes.StringType)) {
      return UTF8String.fromString(value.asText());
    }
    if (type.equals(DataTypes.LongType) || type.equals(DataTypes.TimestampType)) {
      return value.longValue();
    }
    if (type.equals(DataTypes.IntegerType)) {
      return value.intValue();
    }
    if (type.equals(DataTypes.DoubleType)) {
      return value.doubleValue();
    }
    if (type.equals(DataTypes.BooleanType)) {
      return value.booleanValue();
    }
    if (type instanceof StructType struct) {
      return row(struct, value);
    }
    throw new IllegalStateException("no command has a column of type " + type);
  }

  private static void delete(Path file) {
    try {
      Files.deleteIfExists(file);
    } catch (IOException e) {
      // The rows have been read. A file that stays is in the system's temporary directory, which the system cleans.
    }
  }
}
