package io.indextables.spark;

import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.types.StructType;

/** The table that a {@code save} writes to. */
final class WriteTarget implements SupportsWrite {
  private final TableRef ref;
  private final WriteMode mode;
  private final StructType schema;
  private final List<String> partitionBy;
  private final Set<TableCapability> capabilities;
  private final Replacement replacement;

  private WriteTarget(
      TableRef ref, WriteMode mode, StructType schema, List<String> partitionBy, Set<TableCapability> capabilities, Replacement replacement) {
    this.ref = ref;
    this.mode = mode;
    this.schema = schema;
    this.partitionBy = partitionBy;
    this.capabilities = capabilities;
    this.replacement = replacement;
  }

  static WriteTarget of(TableRef ref, WriteMode mode, StructType schema, List<String> partitionBy, Replacement replacement) {
    Set<TableCapability> capabilities = EnumSet.of(TableCapability.BATCH_WRITE, TableCapability.TRUNCATE);
    return new WriteTarget(ref, mode, schema, partitionBy, capabilities, replacement);
  }

  static WriteTarget ofAnySchema(TableRef ref, WriteMode mode, StructType rows, List<String> partitionBy, Replacement replacement) {
    Set<TableCapability> capabilities =
        EnumSet.of(TableCapability.BATCH_WRITE, TableCapability.TRUNCATE, TableCapability.ACCEPT_ANY_SCHEMA);
    return new WriteTarget(ref, mode, rows, partitionBy, capabilities, replacement);
  }

  @Override
  public String name() {
    return ref.name();
  }

  @Override
  @SuppressWarnings("deprecation")
  public StructType schema() {
    return schema;
  }

  @Override
  public Set<TableCapability> capabilities() {
    return capabilities;
  }

  @Override
  public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
    return new IndexTablesWriteBuilder(ref, info, mode, partitionBy, replacement);
  }
}
