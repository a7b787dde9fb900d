package io.indextables.spark;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.write.DeltaWriteBuilder;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.RowLevelOperationInfo;
import org.apache.spark.sql.connector.write.SupportsDelta;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * A statement that changes rows: UPDATE, MERGE INTO, and a DELETE whose condition Python cannot decide. Spark finds the rows
 * by a scan of one version, and names each by its split and its number in it. Python deletes those rows and adds the new ones
 * in one commit.
 */
final class RowChanges implements SupportsDelta {
  private final TableRef table;
  private final Description description;
  private final RowLevelOperationInfo info;

  private RowChanges(TableRef table, Description description, RowLevelOperationInfo info) {
    this.table = table;
    this.description = description;
    this.info = info;
  }

  static RowChanges of(SearchedTable target, RowLevelOperationInfo info) {
    TableRef table = target.ref().withOptions(info.options().asCaseSensitiveMap());
    String statement = statement(info.command());
    if (table.columns() != null) {
      throw Failures.analysis(
          statement + " " + table.name() + ": rows of a dataset of column groups are deleted by a delta log, with "
              + "indextables.columns.write_delta and Transaction.add_delta_log in Python, and never updated");
    }
    if (table.version() != null || table.timestamp() != null) {
      throw Failures.analysis(statement + " " + table.name() + ": an older version of a table cannot be changed");
    }
    Description description = target.description();
    List<String> names = new ArrayList<>(MetadataColumns.ROW_ID);
    names.retainAll(Arrays.asList(description.schema().fieldNames()));
    if (!names.isEmpty()) {
      throw Failures.analysis(
          statement + " " + table.name() + ": the table has a column " + names.get(0)
              + ", by which name Spark would know the rows; delete rows by a condition in Python, with Table.delete");
    }
    return new RowChanges(table, description, info);
  }

  /** Returns the name of the statement as the history has it. */
  private static String statement(Command command) {
    return command.name(); // DELETE, UPDATE or MERGE
  }

  @Override
  public Command command() {
    return info.command();
  }

  @Override
  public String description() {
    return statement(info.command()) + " of " + table.name();
  }

  @Override
  public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
    return new IndexTablesTable(table, description).newScanBuilder(options);
  }

  @Override
  public NamedReference[] rowId() {
    return RowDistribution.references(MetadataColumns.ROW_ID);
  }

  @Override
  public DeltaWriteBuilder newWriteBuilder(LogicalWriteInfo write) {
    return new RowChangeWrite.Builder(table, description, statement(info.command()), write);
  }
}
