package io.indextables.spark;

import java.util.EnumSet;
import java.util.Set;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.TableWritePrivilege;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.types.StructType;

/** A table of the catalog: INSERT INTO appends to it, INSERT OVERWRITE replaces its rows or those of partitions. */
class WritableTable extends IndexTablesTable implements SupportsWrite, ListedPartitions {
  private StructType columns; // of rows to write; null: those of rows to read
  private boolean open;

  WritableTable(TableRef ref, Description description) {
    super(ref, description);
  }

  @Override
  public SearchedTable copy() {
    return new WritableTable(ref, description);
  }

  /** Returns a table that was loaded for a statement which needs these privileges. One that only inserts is open. */
  static Table asTarget(Table table, Set<TableWritePrivilege> privileges) {
    return table instanceof WritableTable writable
        ? writable.asTarget(privileges.equals(Set.of(TableWritePrivilege.INSERT)))
        : table;
  }

  /** Returns the table as the target of a statement. An open one takes rows of any columns until it is closed. */
  WritableTable asTarget(boolean isOpen) {
    WritableTable target = (WritableTable) copy();
    target.columns = description.writeSchema();
    target.open = isOpen;
    return target;
  }

  boolean isOpen() {
    return open;
  }

  WritableTable closed() {
    return closed(columns);
  }

  /** Returns the table as the target of rows with these columns. */
  WritableTable closed(StructType rows) {
    WritableTable target = (WritableTable) copy();
    target.columns = rows;
    return target;
  }

  @Override
  @SuppressWarnings("deprecation")
  public StructType schema() {
    return columns == null ? super.schema() : columns;
  }

  @Override
  public Set<TableCapability> capabilities() {
    Set<TableCapability> capabilities =
        EnumSet.of(
            TableCapability.BATCH_WRITE,
            TableCapability.TRUNCATE,
            TableCapability.OVERWRITE_BY_FILTER,
            TableCapability.OVERWRITE_DYNAMIC);
    if (open) {
      capabilities.add(TableCapability.ACCEPT_ANY_SCHEMA);
    }
    capabilities.addAll(ref.readCapabilities());
    return capabilities;
  }

  @Override
  public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
    TableRef target = ref.withOptions(info.options().asCaseSensitiveMap());
    return new IndexTablesWriteBuilder(target, info, WriteMode.APPEND, null, Replacement.ofOptions(info.options()));
  }
}
