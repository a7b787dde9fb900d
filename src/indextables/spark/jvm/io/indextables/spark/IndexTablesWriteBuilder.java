package io.indextables.spark;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.List;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.SupportsDynamicOverwrite;
import org.apache.spark.sql.connector.write.SupportsOverwriteV2;
import org.apache.spark.sql.connector.write.Write;
import org.apache.spark.sql.connector.write.WriteBuilder;

/**
 * Plans a write in Python, then lets Spark's Python data source run it. An overwrite replaces all rows, those that satisfy
 * conditions, or the partitions that it writes to.
 */
final class IndexTablesWriteBuilder implements WriteBuilder, SupportsOverwriteV2, SupportsDynamicOverwrite {
  private final TableRef table;
  private final LogicalWriteInfo info;
  private final List<String> partitionColumns;
  private final Replacement replacement;
  private WriteMode mode;
  private Predicate[] conditions;
  private boolean dynamic;

  /** Partition columns are null if the user named none; an existing table then keeps its own. */
  IndexTablesWriteBuilder(
      TableRef table, LogicalWriteInfo info, WriteMode mode, List<String> partitionColumns, Replacement replacement) {
    this.replacement = replacement;
    this.table = table;
    this.info = info;
    this.mode = mode;
    this.partitionColumns = partitionColumns;
  }

  @Override
  public WriteBuilder truncate() {
    mode = WriteMode.OVERWRITE;
    return this;
  }

  @Override
  public boolean canOverwrite(Predicate[] predicates) {
    return RowDeletes.canReplace(table, predicates);
  }

  @Override
  public WriteBuilder overwrite(Predicate[] predicates) {
    mode = WriteMode.OVERWRITE;
    conditions = predicates;
    return this;
  }

  @Override
  public WriteBuilder overwriteDynamicPartitions() {
    mode = WriteMode.OVERWRITE;
    dynamic = true;
    return this;
  }

  /** Returns what the options say is replaced, or the statement. AnalysisException if they contradict each other. */
  private Replacement replaced() {
    if (conditions != null && replacement.isPart()) {
      throw Failures.analysis(
          "the write replaces the rows that satisfy the condition of its statement, and the options replaceWhere and "
              + "partitionOverwriteMode=dynamic name others; give one of them");
    }
    return dynamic ? replacement.ofPartitions(info.options()) : replacement;
  }

  @Override
  public Write build() {
    Request request =
        Request.of("plan_write", table)
            .with("mode", mode.word())
            .with("schema", info.schema().json())
            .with("partition_by", partitionColumns == null ? Json.none() : Json.strings(partitionColumns));
    if (mode == WriteMode.OVERWRITE || replacement.where() != null) { // Python refuses a condition of an append
      request = replaced().addTo(request);
    }
    if (conditions != null) {
      request = request.with("replace_filters", PredicateJson.of(List.of(conditions)));
    }
    JsonNode plan = PythonBridge.ask(request).get();
    Request write = request.with("command", "write").with("skip", plan.get("skip")).with("plan", plan.get("plan"));
    Write python = PythonBridge.write(info, write, mode == WriteMode.OVERWRITE);
    return new IndexTablesWrite(python, RowDistribution.of(plan), new Upkeep(table, plan.get("upkeep")));
  }
}
