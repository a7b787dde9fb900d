package io.indextables.spark;

import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.Statistics;
import org.apache.spark.sql.connector.read.SupportsReportStatistics;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.types.StructType;

/**
 * A scan that may be that of a stream: Spark builds both in the same way. Python plans it when it is known to be none, to be
 * run in tasks.
 */
final class UnplannedScan implements SupportsReportStatistics {
  private final TableRef table;
  private final ScanRequest scan;
  private Scan planned;
  private boolean isStream;

  /** The table is as the user named it; the scan is of one version. */
  UnplannedScan(TableRef table, ScanRequest scan) {
    this.table = table;
    this.scan = scan;
  }

  private synchronized Scan planned() {
    if (planned == null) {
      planned = scan.inTasks();
    }
    return planned;
  }

  @Override
  public StructType readSchema() {
    return scan.schema();
  }

  @Override
  public MicroBatchStream toMicroBatchStream(String checkpointLocation) {
    isStream = true;
    return new TableStream(table, scan.schema());
  }

  @Override
  public Batch toBatch() {
    return planned().toBatch();
  }

  @Override
  public Statistics estimateStatistics() {
    return isStream ? PlanStatistics.UNKNOWN : ((SupportsReportStatistics) planned()).estimateStatistics();
  }

  @Override
  public ColumnarSupportMode columnarSupportMode() {
    return ColumnarSupportMode.UNSUPPORTED;
  }

  @Override
  public String description() {
    return scan.description(Json.none());
  }
}
