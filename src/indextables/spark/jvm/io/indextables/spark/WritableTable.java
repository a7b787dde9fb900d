package io.indextables.spark;

import java.util.EnumSet;
import java.util.Set;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.WriteBuilder;

/** A table of the catalog: INSERT INTO appends to it, INSERT OVERWRITE replaces its rows or those of partitions. */
class WritableTable extends IndexTablesTable implements SupportsWrite, ListedPartitions {
  WritableTable(TableRef ref, Description description) {
    super(ref, description);
  }

  @Override
  public SearchedTable copy() {
    return new WritableTable(ref, description);
  }

  @Override
  public Set<TableCapability> capabilities() {
    Set<TableCapability> capabilities =
        EnumSet.of(
            TableCapability.BATCH_WRITE,
            TableCapability.TRUNCATE,
            TableCapability.OVERWRITE_BY_FILTER,
            TableCapability.OVERWRITE_DYNAMIC);
    capabilities.addAll(ref.readCapabilities());
    return capabilities;
  }

  @Override
  public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
    TableRef target = ref.withOptions(info.options().asCaseSensitiveMap());
    return new IndexTablesWriteBuilder(target, info, WriteMode.APPEND, null, Replacement.ALL);
  }
}
