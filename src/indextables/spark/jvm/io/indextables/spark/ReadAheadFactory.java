package io.indextables.spark;

import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Deque;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;

/**
 * Takes all the rows of a task from Python before Spark sees the first. For a scan with a small limit: Spark stops asking
 * at the limit, a Python worker whose output was not read to its end is thrown away, and a new one takes longer to start
 * than the rows take to read.
 */
final class ReadAheadFactory implements PartitionReaderFactory {
  private static final long serialVersionUID = 1L;

  private final PartitionReaderFactory python;

  ReadAheadFactory(PartitionReaderFactory python) {
    this.python = python;
  }

  @Override
  public PartitionReader<InternalRow> createReader(InputPartition partition) {
    return new Reader(python.createReader(partition));
  }

  private static final class Reader implements PartitionReader<InternalRow> {
    private final PartitionReader<InternalRow> python;
    private Deque<InternalRow> rows;
    private InternalRow current;

    Reader(PartitionReader<InternalRow> python) {
      this.python = python;
    }

    @Override
    public boolean next() throws IOException {
      if (rows == null) {
        rows = new ArrayDeque<>();
        while (python.next()) {
          rows.add(python.get().copy());
        }
      }
      current = rows.poll();
      return current != null;
    }

    @Override
    public InternalRow get() {
      return current;
    }

    @Override
    public CustomTaskMetric[] currentMetricsValues() {
      return python.currentMetricsValues();
    }

    @Override
    public void close() throws IOException {
      python.close();
    }
  }
}
