package io.indextables.spark;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/** The tasks of a command: each returns its result, as Python gives it, and the executor that has run it. */
final class JobScan implements Scan, Batch {
  static final StructType RESULT = new StructType().add("result", DataTypes.StringType);
  private static final StructType WITH_PLACE = RESULT.add("place", DataTypes.StringType);

  private final Batch python;
  private final JsonNode locations;

  /** Locations are in the order of the tasks, in Spark's format; null where a task may run anywhere. */
  JobScan(Request request, JsonNode locations) {
    this.python = PythonBridge.scan(Figures.addedTo(RESULT), request).toBatch();
    this.locations = locations;
  }

  @Override
  public StructType readSchema() {
    return WITH_PLACE;
  }

  @Override
  public Batch toBatch() {
    return this;
  }

  @Override
  public InputPartition[] planInputPartitions() {
    return LocatedPartition.of(python.planInputPartitions(), locations);
  }

  @Override
  public PartitionReaderFactory createReaderFactory() {
    PartitionReaderFactory factory = new LocatedPartition.Factory(python.createReaderFactory());
    return new Factory(new FiguresFactory(factory, RESULT.length()));
  }

  private record Factory(PartitionReaderFactory python) implements PartitionReaderFactory {
    private static final long serialVersionUID = 1L;

    @Override
    public PartitionReader<InternalRow> createReader(InputPartition partition) {
      return new Reader(python.createReader(partition));
    }
  }

  private record Reader(PartitionReader<InternalRow> python) implements PartitionReader<InternalRow> {
    @Override
    public boolean next() throws IOException {
      return python.next();
    }

    @Override
    public InternalRow get() {
      UTF8String place = UTF8String.fromString(Figures.ofThisExecutor());
      return new GenericInternalRow(new Object[] {python.get().getUTF8String(0).copy(), place});
    }

    @Override
    public void close() throws IOException {
      python.close();
    }
  }
}
