package io.indextables.spark;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalLong;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.Statistics;
import org.apache.spark.sql.connector.read.SupportsReportStatistics;
import org.apache.spark.sql.types.StructType;

/** One scan. Python plans it once, when first asked, for the statistics, the metrics and the tasks alike. */
final class IndexTablesScan implements SupportsReportStatistics {
  private static final int FEW_ROWS = 10_000;

  private final String path;
  private final StructType schema;
  private final List<Predicate> filters;
  private final ScanShape shape;
  private final Request request;
  private JsonNode plan;

  IndexTablesScan(TableRef table, StructType schema, List<Predicate> filters, ScanShape shape) {
    this.path = table.path() + " version " + table.version();
    this.schema = schema;
    this.filters = filters;
    this.shape = shape;
    this.request =
        shape.addTo(
            Request.of("scan", table)
                .with("columns", Json.strings(List.of(schema.fieldNames())))
                .with("filters", PredicateJson.of(filters))
                .with("parallelism", SparkSession.active().sparkContext().defaultParallelism()));
  }

  private synchronized JsonNode plan() {
    if (plan == null) {
      plan = PythonDoor.ask(request.with("command", "plan")).get();
    }
    return plan;
  }

  /** The scan that reads: with its plan, or without one that is too large for an option, to be planned again there. */
  Scan planned() {
    return PythonDoor.scan(schema, request.with("plan", plan().get("plan")));
  }

  boolean returnsFewRows() {
    return shape.kind() == ScanShape.Kind.LIMIT && shape.n() <= FEW_ROWS;
  }

  @Override
  public StructType readSchema() {
    return schema;
  }

  @Override
  public Batch toBatch() {
    return new IndexTablesBatch(this);
  }

  @Override
  public ColumnarSupportMode columnarSupportMode() {
    return ColumnarSupportMode.UNSUPPORTED; // known without planning the scan
  }

  @Override
  public Statistics estimateStatistics() {
    JsonNode planned = plan();
    return new Statistics() {
      @Override
      public OptionalLong sizeInBytes() {
        return OptionalLong.of(planned.get("bytes").asLong());
      }

      @Override
      public OptionalLong numRows() {
        return OptionalLong.of(planned.get("rows").asLong());
      }
    };
  }

  @Override
  public CustomMetric[] supportedCustomMetrics() {
    return Stream.concat(
            Arrays.stream(PythonDoor.scan(schema, request).supportedCustomMetrics()), Stream.of(SplitMetric.all()))
        .toArray(CustomMetric[]::new);
  }

  @Override
  public CustomTaskMetric[] reportDriverMetrics() {
    long read = plan().get("splits_read").asLong();
    return SplitMetric.values(read, plan().get("splits_total").asLong() - read);
  }

  @Override
  public String description() {
    String where = filters.stream().map(Object::toString).collect(Collectors.joining(" AND "));
    return "indextables " + path + (where.isEmpty() ? "" : ", where " + where) + shape;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof IndexTablesScan that && that.schema.equals(schema) && that.request.equals(request);
  }

  @Override
  public int hashCode() {
    return request.hashCode();
  }
}
