package io.indextables.spark;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.List;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.SupportsTruncate;
import org.apache.spark.sql.connector.write.Write;
import org.apache.spark.sql.connector.write.WriteBuilder;

/** Plans a write in Python, then lets Spark's Python data source run it. */
final class IndexTablesWriteBuilder implements WriteBuilder, SupportsTruncate {
  private final TableRef table;
  private final LogicalWriteInfo info;
  private final List<String> partitionColumns;
  private WriteMode mode;

  /** Partition columns are null if the user named none; an existing table then keeps its own. */
  IndexTablesWriteBuilder(TableRef table, LogicalWriteInfo info, WriteMode mode, List<String> partitionColumns) {
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
  public Write build() {
    Request request =
        Request.of("plan_write", table)
            .with("mode", mode.word())
            .with("schema", info.schema().json())
            .with("partition_by", partitionColumns == null ? Json.none() : Json.strings(partitionColumns));
    JsonNode plan = PythonBridge.ask(request).get();
    Request write = request.with("command", "write").with("skip", plan.get("skip")).with("plan", plan.get("plan"));
    Write python = PythonBridge.write(info, write, mode == WriteMode.OVERWRITE);
    return new IndexTablesWrite(python, RowDistribution.of(plan), new Upkeep(table, plan.get("upkeep")));
  }
}
