package io.indextables.spark;

import java.util.Set;
import org.apache.spark.sql.connector.catalog.StagedTable;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.types.StructType;

/** A table with a name that is being created or replaced: the write, and what its end changes in the catalog. */
final class NamedStage implements StagedTable, SupportsWrite {
  private final StagedWrite write;
  private final Runnable onCommit;
  private final Runnable onAbort;

  NamedStage(StagedWrite write, Runnable onCommit, Runnable onAbort) {
    this.write = write;
    this.onCommit = onCommit;
    this.onAbort = onAbort;
  }

  @Override
  public String name() {
    return write.name();
  }

  @Override
  @SuppressWarnings("deprecation")
  public StructType schema() {
    return write.schema();
  }

  @Override
  public Set<TableCapability> capabilities() {
    return write.capabilities();
  }

  @Override
  public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
    return write.newWriteBuilder(info);
  }

  @Override
  public void commitStagedChanges() {
    write.commitStagedChanges();
    if (!write.isPart()) {
      onCommit.run();
    }
  }

  @Override
  public void abortStagedChanges() {
    write.abortStagedChanges();
    onAbort.run();
  }
}
