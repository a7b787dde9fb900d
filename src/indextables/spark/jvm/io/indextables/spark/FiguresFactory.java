package io.indextables.spark;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.util.Arrays;
import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;

/**
 * Removes the row with the figures of a task from Python's rows, and reports the figures as metrics. The other rows keep the
 * column of the figures at their end, where Spark does not look.
 */
record FiguresFactory(PartitionReaderFactory python, int column) implements PartitionReaderFactory {
  private static final long serialVersionUID = 1L;

  @Override
  public PartitionReader<InternalRow> createReader(InputPartition partition) {
    return new Reader(python.createReader(partition), column);
  }

  private static final class Reader implements PartitionReader<InternalRow> {
    private final PartitionReader<InternalRow> python;
    private final int column;
    private InternalRow current;
    private CustomTaskMetric[] figures = {};

    Reader(PartitionReader<InternalRow> python, int column) {
      this.python = python;
      this.column = column;
    }

    @Override
    public boolean next() throws IOException {
      while (python.next()) {
        current = python.get();
        if (current.isNullAt(column)) {
          return true;
        }
        JsonNode task = Json.parse(current.getUTF8String(column).toString());
        Figures.add(task.get("counts"));
        figures = ScanMetric.ofTask(task.get("metrics"));
      }
      return false;
    }

    @Override
    public InternalRow get() {
      return current;
    }

    @Override
    public CustomTaskMetric[] currentMetricsValues() {
      return Stream.concat(Arrays.stream(python.currentMetricsValues()), Arrays.stream(figures))
          .toArray(CustomTaskMetric[]::new);
    }

    @Override
    public void close() throws IOException {
      python.close();
    }
  }
}
