package io.indextables.spark;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Arrays;
import java.util.stream.Stream;
import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.Statistics;
import org.apache.spark.sql.connector.read.SupportsReportStatistics;
import org.apache.spark.sql.types.StructType;

/** A scan that runs in tasks, as Python planned it. */
final class IndexTablesScan implements SupportsReportStatistics {
  private static final int FEW_ROWS = 10_000;

  private final ScanRequest scan;
  private final JsonNode plan;

  IndexTablesScan(ScanRequest scan, JsonNode plan) {
    this.scan = scan;
    this.plan = plan;
  }

  Scan python() {
    return scan.python(plan.get("plan"));
  }

  /** Returns the host of each task; none if Python gave none. */
  JsonNode hosts() {
    return plan.path("hosts");
  }

  boolean returnsFewRows() {
    return scan.shape().kind() == ScanShape.Kind.LIMIT && scan.shape().n() <= FEW_ROWS;
  }

  @Override
  public StructType readSchema() {
    return scan.schema();
  }

  @Override
  public Batch toBatch() {
    return new IndexTablesBatch(this);
  }

  @Override
  public ColumnarSupportMode columnarSupportMode() {
    return ColumnarSupportMode.UNSUPPORTED; // known without asking Python for its partitions
  }

  @Override
  public Statistics estimateStatistics() {
    return PlanStatistics.of(plan);
  }

  @Override
  public CustomMetric[] supportedCustomMetrics() {
    Scan unplanned = scan.python(Json.none()); // the names of its metrics do not depend on a plan
    return Stream.of(unplanned.supportedCustomMetrics(), ScanMetric.all())
        .flatMap(Arrays::stream)
        .toArray(CustomMetric[]::new);
  }

  @Override
  public CustomTaskMetric[] reportDriverMetrics() {
    return ScanMetric.ofPlan(plan);
  }

  @Override
  public String description() {
    return scan.description(plan);
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof IndexTablesScan that && that.scan.equals(scan);
  }

  @Override
  public int hashCode() {
    return scan.hashCode();
  }
}
