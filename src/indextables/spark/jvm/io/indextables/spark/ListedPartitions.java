package io.indextables.spark;

import com.fasterxml.jackson.databind.JsonNode;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.catalog.SupportsPartitionManagement;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.execution.datasources.PartitioningUtils;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/** The partitions of a table, for {@code SHOW PARTITIONS}. They follow from the rows, so that no statement creates one. */
interface ListedPartitions extends SearchedTable, SupportsPartitionManagement {
  @Override
  @SuppressWarnings("deprecation")
  default StructType partitionSchema() {
    StructType columns = new StructType();
    for (Transform column : partitioning()) {
      columns = columns.add(schema().apply(column.references()[0].fieldNames()[0]));
    }
    return columns;
  }

  @Override
  default InternalRow[] listPartitionIdentifiers(String[] names, InternalRow values) {
    StructType columns = partitionSchema();
    List<InternalRow> identifiers = new ArrayList<>();
    for (JsonNode partition : PythonBridge.ask(Request.of("partitions", ref())).get().get("partitions")) {
      Object[] row = new Object[columns.length()];
      for (int i = 0; i < row.length; i++) {
        row[i] = value(columns.apply(i).dataType(), partition.get(i));
      }
      if (isIn(columns, row, names, values)) {
        identifiers.add(new GenericInternalRow(row));
      }
    }
    return identifiers.toArray(new InternalRow[0]);
  }

  private static Object value(DataType type, JsonNode value) {
    if (value.isNull()) {
      return null;
    }
    return type instanceof StringType
        ? UTF8String.fromString(value.asText()) // Spark's function would take it for an escaped path
        : PartitioningUtils.castPartValueToDesiredType(type, value.asText(), ZoneOffset.UTC);
  }

  private static boolean isIn(StructType columns, Object[] row, String[] names, InternalRow values) {
    for (int i = 0; i < names.length; i++) {
      int column = columns.fieldIndex(names[i]);
      if (!Objects.equals(row[column], values.get(i, columns.apply(column).dataType()))) {
        return false;
      }
    }
    return true;
  }

  @Override
  default Map<String, String> loadPartitionMetadata(InternalRow partition) {
    return Map.of();
  }

  @Override
  default void createPartition(InternalRow partition, Map<String, String> properties) {
    throw refused("ADD PARTITION", "a partition exists as soon as a row of it is written");
  }

  @Override
  default boolean dropPartition(InternalRow partition) {
    throw refused("DROP PARTITION", "DROP INDEXTABLES PARTITIONS FROM ... WHERE, or DELETE FROM, removes its rows");
  }

  @Override
  default void replacePartitionMetadata(InternalRow partition, Map<String, String> properties) {
    throw refused("PARTITION with properties", "a partition has none");
  }

  @Override
  default boolean truncatePartition(InternalRow partition) {
    throw refused("TRUNCATE TABLE ... PARTITION", "DELETE FROM ... WHERE removes its rows");
  }

  @Override
  default boolean renamePartition(InternalRow from, InternalRow to) {
    throw refused("RENAME PARTITION", "write its rows again with the new value, and DELETE the old ones");
  }

  private static RuntimeException refused(String statement, String instead) {
    return Failures.analysis(statement + " is not supported for tables of indextables: " + instead);
  }
}
