package io.indextables.spark;

import com.fasterxml.jackson.databind.JsonNode;
import org.apache.spark.sql.connector.distributions.Distribution;
import org.apache.spark.sql.connector.expressions.SortOrder;
import org.apache.spark.sql.connector.write.BatchWrite;
import org.apache.spark.sql.connector.write.DeltaBatchWrite;
import org.apache.spark.sql.connector.write.DeltaWrite;
import org.apache.spark.sql.connector.write.DeltaWriteBuilder;
import org.apache.spark.sql.connector.write.DeltaWriterFactory;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.PhysicalWriteInfo;
import org.apache.spark.sql.connector.write.RequiresDistributionAndOrdering;
import org.apache.spark.sql.connector.write.Write;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** The write of a statement that changes rows. New rows are distributed to tasks as those of an append are. */
final class RowChangeWrite implements DeltaWrite, RequiresDistributionAndOrdering {
  private final IndexTablesWrite rows;
  private final StructType columns;

  private RowChangeWrite(IndexTablesWrite rows, StructType columns) {
    this.rows = rows;
    this.columns = columns;
  }

  record Builder(TableRef table, Description description, String statement, LogicalWriteInfo info)
      implements DeltaWriteBuilder {
    @Override
    public DeltaWrite build() {
      StructType columns = new StructType();
      for (StructField field : description.schema().fields()) {
        columns = columns.add(field.name(), field.dataType(), true);
      }
      Request request =
          Request.of("plan_write", table)
              .with("mode", WriteMode.APPEND.word())
              .with("schema", columns.json());
      JsonNode plan = PythonBridge.ask(request).get();
      Request write =
          request
              .with("command", "change_rows")
              .with("version", description.version())
              .with("statement", statement)
              .with("plan", plan.get("plan"));
      Write python = PythonBridge.write(new WriteInfo(info.queryId(), changes(columns), info.options()), write, false);
      boolean hasRows = info.schema().length() > 0; // a DELETE has none
      RowDistribution distribution = hasRows ? RowDistribution.of(plan) : RowDistribution.NONE;
      IndexTablesWrite rows = new IndexTablesWrite(python, distribution, new Upkeep(table, plan.get("upkeep")));
      return new RowChangeWrite(rows, hasRows ? columns : new StructType());
    }
  }

  /** Returns the columns that Python gets: the kind of change, the old row's split and number, and the new row. */
  private static StructType changes(StructType columns) {
    return new StructType()
        .add("kind", DataTypes.IntegerType)
        .add("split", DataTypes.StringType)
        .add("number", DataTypes.LongType)
        .add("row", columns);
  }

  @Override
  public DeltaBatchWrite toBatch() {
    return new Changes(rows.toBatch(), columns);
  }

  @Override
  public Distribution requiredDistribution() {
    return rows.requiredDistribution();
  }

  @Override
  public boolean distributionStrictlyRequired() {
    return rows.distributionStrictlyRequired();
  }

  @Override
  public int requiredNumPartitions() {
    return rows.requiredNumPartitions();
  }

  @Override
  public long advisoryPartitionSizeInBytes() {
    return rows.advisoryPartitionSizeInBytes();
  }

  @Override
  public SortOrder[] requiredOrdering() {
    return rows.requiredOrdering();
  }

  @Override
  public String description() {
    return rows.description();
  }

  private record Changes(BatchWrite python, StructType columns) implements DeltaBatchWrite {
    @Override
    public DeltaWriterFactory createBatchWriterFactory(PhysicalWriteInfo info) {
      return new RowChangeQueue.Factory(python.createBatchWriterFactory(info), columns);
    }

    @Override
    public boolean useCommitCoordinator() {
      return python.useCommitCoordinator();
    }

    @Override
    public void onDataWriterCommit(WriterCommitMessage message) {
      python.onDataWriterCommit(message);
    }

    @Override
    public void commit(WriterCommitMessage[] messages) {
      python.commit(messages);
    }

    @Override
    public void abort(WriterCommitMessage[] messages) {
      python.abort(messages);
    }
  }
}
