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

/**
 * A table of another format that is being created as the result of a query. It is created at once and dropped if the query
 * fails, as Spark does by itself in a catalog that stages nothing.
 */
final class ForeignStage implements StagedTable, SupportsWrite {
  private final TableCatalog catalog;
  private final Identifier ident;
  private final Table table;

  ForeignStage(TableCatalog catalog, Identifier ident, Table table) {
    this.catalog = catalog;
    this.ident = ident;
    this.table = table;
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
  public void commitStagedChanges() {}

  @Override
  public void abortStagedChanges() {
    catalog.dropTable(ident);
  }
}
