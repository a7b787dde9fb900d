package io.indextables.spark;

import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.connector.catalog.StagedTable;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.types.StructType;

/**
 * A table that is being created or replaced. The write commits its rows and schema at once; only a table that gets no
 * rows is committed here. {@code saveAsTable} comes here too, and its options may name a part of the table to replace.
 */
final class StagedWrite implements StagedTable, SupportsWrite {
  private final TableRef ref;
  private final WriteMode mode;
  private final StructType schema;
  private final List<String> partitionBy;
  private boolean written;
  private boolean part;

  private StagedWrite(TableRef ref, WriteMode mode, StructType schema, List<String> partitionBy) {
    this.ref = ref;
    this.mode = mode;
    this.schema = schema;
    this.partitionBy = partitionBy;
  }

  static StagedWrite create(TableRef ref, WriteMode mode, StructType schema, List<String> partitionBy) {
    return new StagedWrite(ref, mode, schema, partitionBy);
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
    return EnumSet.of(TableCapability.BATCH_WRITE, TableCapability.TRUNCATE); // Spark replaces by an overwrite
  }

  @Override
  public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
    written = true;
    TableRef target = ref.withOptions(info.options().asCaseSensitiveMap());
    Replacement replacement = Replacement.ofOptions(info.options());
    part = replacement.isPart();
    List<String> columns = part && partitionBy.isEmpty() ? null : partitionBy; // a part keeps the partitions of the table
    return new IndexTablesWriteBuilder(target, info, mode, columns, replacement);
  }

  String path() {
    return ref.path();
  }

  /** Returns whether the write replaces a part of the table, which then keeps its columns and properties. */
  boolean isPart() {
    return part;
  }

  @Override
  public void commitStagedChanges() {
    if (written) {
      return;
    }
    Request request =
        Request.of("create_table", ref)
            .with("mode", mode.word())
            .with("schema", schema.json())
            .with("partition_by", Json.strings(partitionBy));
    PythonBridge.ask(request).get();
  }

  @Override
  public void abortStagedChanges() {}
}
