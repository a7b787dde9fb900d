package io.indextables.spark;

import java.util.Set;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.V2TableWithV1Fallback;
import org.apache.spark.sql.types.StructType;

/**
 * A name as {@code DataStreamWriter.toTable} gets it: Spark then starts the query as {@code start} does with the path of the
 * table, and so writes to a {@link StreamSink}. The first batch creates the table if there is none.
 */
record StreamTarget(NamedTable named) implements V2TableWithV1Fallback {
  /** Returns whether the caller looks for the target of a stream: no argument tells it from other reads of a catalog. */
  static boolean isSought() {
    return StackWalker.getInstance().walk(callers -> callers.anyMatch(StreamTarget::isToTable));
  }

  private static boolean isToTable(StackWalker.StackFrame caller) {
    return caller.getMethodName().equals("toTable") && caller.getClassName().endsWith(".DataStreamWriter");
  }

  @Override
  public CatalogTable v1Table() {
    return named.entry();
  }

  @Override
  public String name() {
    return named.name();
  }

  @Override
  @SuppressWarnings("deprecation")
  public StructType schema() {
    return named.entry().schema();
  }

  @Override
  public Set<TableCapability> capabilities() {
    return Set.of();
  }
}
