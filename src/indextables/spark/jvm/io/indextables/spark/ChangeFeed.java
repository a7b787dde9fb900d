package io.indextables.spark;

import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** The changes of a table as rows: {@code readChangeFeed}. A batch read has those up to the version of the description. */
record ChangeFeed(TableRef ref, Description description) implements SupportsRead {
  private static final String COMMIT_VERSION = "_commit_version";

  @Override
  public String name() {
    return "changes of " + ref.name();
  }

  @Override
  @SuppressWarnings("deprecation")
  public StructType schema() {
    return description.schema();
  }

  @Override
  public Set<TableCapability> capabilities() {
    return EnumSet.of(TableCapability.BATCH_READ, TableCapability.MICRO_BATCH_READ);
  }

  @Override
  public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
    return new Columns();
  }

  private final class Columns implements SupportsPushDownRequiredColumns {
    private StructType columns = description.schema();

    /** Takes the columns whole, as {@link IndexTablesScanBuilder} does, and at least one: rows are counted by it. */
    @Override
    public void pruneColumns(StructType required) {
      List<String> names = List.of(required.fieldNames());
      StructType pruned = new StructType();
      for (StructField field : description.schema().fields()) {
        pruned = names.contains(field.name()) ? pruned.add(field) : pruned;
      }
      columns = pruned.isEmpty() ? pruned.add(description.schema().apply(COMMIT_VERSION)) : pruned;
    }

    @Override
    public Scan build() {
      return new Changes(ref, description.version(), columns);
    }
  }

  private record Changes(TableRef ref, long version, StructType columns) implements Scan {
    @Override
    public StructType readSchema() {
      return columns;
    }

    @Override
    public Batch toBatch() {
      return new Range(this);
    }

    @Override
    public MicroBatchStream toMicroBatchStream(String checkpointLocation) {
      return new TableStream(ref, columns);
    }

    @Override
    public ColumnarSupportMode columnarSupportMode() {
      return ColumnarSupportMode.UNSUPPORTED;
    }

    @Override
    public String description() {
      return "indextables changes of " + ref.path() + " up to version " + version;
    }
  }

  private static final class Range implements Batch {
    private final Changes changes;
    private Batch python;

    Range(Changes changes) {
      this.changes = changes;
    }

    private synchronized Batch python() {
      if (python == null) {
        Request request =
            Request.of("feed_plan", changes.ref().atVersion(changes.version()))
                .with("schema", changes.columns().json())
                .with("parallelism", SparkSession.active().sparkContext().defaultParallelism());
        PythonBridge.ask(request).get(); // so that an error is a plain one
        python = PythonBridge.scan(changes.columns(), request.with("command", "feed_scan")).toBatch();
      }
      return python;
    }

    @Override
    public InputPartition[] planInputPartitions() {
      return python().planInputPartitions();
    }

    @Override
    public PartitionReaderFactory createReaderFactory() {
      return python().createReaderFactory();
    }
  }
}
