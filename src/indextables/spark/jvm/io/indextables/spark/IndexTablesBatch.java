package io.indextables.spark;

import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;

/** The tasks of a scan. Equal scans have equal batches, so that Spark reads the two sides of a self-join once. */
final class IndexTablesBatch implements Batch {
  private final IndexTablesScan scan;
  private Batch python;

  IndexTablesBatch(IndexTablesScan scan) {
    this.scan = scan;
  }

  private synchronized Batch python() {
    if (python == null) {
      python = scan.python().toBatch();
    }
    return python;
  }

  @Override
  public InputPartition[] planInputPartitions() {
    return LocatedPartition.of(python().planInputPartitions(), scan.hosts());
  }

  @Override
  public PartitionReaderFactory createReaderFactory() {
    PartitionReaderFactory located = new LocatedPartition.Factory(python().createReaderFactory());
    PartitionReaderFactory factory = new FiguresFactory(located, scan.readSchema().length());
    return scan.returnsFewRows() ? new ReadAheadFactory(factory) : factory;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof IndexTablesBatch that && that.scan.equals(scan);
  }

  @Override
  public int hashCode() {
    return scan.hashCode();
  }
}
