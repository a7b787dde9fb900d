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
 * Reads all the rows of a task from Python before Spark gets the first. This is for scans with a small limit. Spark stops
 * reading at the limit, and it discards a Python worker whose output was not read to the end. To start a new worker takes
 * longer than to read the rows.
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
