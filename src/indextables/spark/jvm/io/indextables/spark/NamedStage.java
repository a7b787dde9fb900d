package io.indextables.spark;

import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.StagedTable;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.types.StructType;

/** A table with a name that is being created or replaced: the table, and what the end of its write does. */
final class NamedStage implements StagedTable, SupportsWrite {
  private final Table table;
  private final Runnable commit;
  private final Runnable abort;

  private NamedStage(Table table, Runnable commit, Runnable abort) {
    this.table = table;
    this.commit = commit;
    this.abort = abort;
  }

  /** Returns the stage of a search table, and of what its end changes in the catalog. */
  static NamedStage of(StagedWrite write, Runnable onCommit, Runnable onAbort) {
    return new NamedStage(
        write,
        () -> {
          write.commitStagedChanges();
          if (!write.isPart()) {
            onCommit.run();
          }
        },
        () -> {
          write.abortStagedChanges();
          onAbort.run();
        });
  }

  /**
   * Returns the stage of a table of another format, which is there already. It is dropped if the query fails, as Spark does by
   * itself in a catalog that stages nothing.
   */
  static NamedStage ofForeign(TableCatalog catalog, Identifier ident, Table table) {
    return new NamedStage(table, () -> {}, () -> catalog.dropTable(ident));
  }

  @Override
  public String name() {
    return table.name();
  }

  @Override
  @SuppressWarnings("deprecation")
  public StructType schema() {
    return table.schema();
  }

  @Override
  public Transform[] partitioning() {
    return table.partitioning();
  }

  @Override
  public Map<String, String> properties() {
    return table.properties();
  }

  @Override
  public Set<TableCapability> capabilities() {
    return table.capabilities();
  }

  @Override
  public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
    if (table instanceof SupportsWrite writable) {
      return writable.newWriteBuilder(info);
    }
    throw Failures.analysis(table.name() + " does not support writes");
  }

  @Override
  public void commitStagedChanges() {
    commit.run();
  }

  @Override
  public void abortStagedChanges() {
    abort.run();
  }
}
