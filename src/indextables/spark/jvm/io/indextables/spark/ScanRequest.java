package io.indextables.spark;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.List;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.types.StructType;

/** What to read of a table. Scans of equal requests are equal, so that Spark reads the two sides of a self-join once. */
final class ScanRequest {
  private final String path;
  private final StructType schema;
  private final List<Predicate> filters;
  private final ScanShape shape;
  private final Request request;

  ScanRequest(TableRef table, StructType schema, List<Predicate> filters, ScanShape shape) {
    this(table, schema, filters, shape, UnaryOperator.identity());
  }

  /** Reads rows in another way than by the filters alone: {@code more} adds to the request what Python needs for it. */
  ScanRequest(
      TableRef table, StructType schema, List<Predicate> filters, ScanShape shape, UnaryOperator<Request> more) {
    this.path = table.path() + " version " + table.version();
    this.schema = schema;
    this.filters = filters;
    this.shape = shape;
    Request scan =
        Request.of("scan", table)
            .with("columns", Json.strings(List.of(schema.fieldNames())))
            .with("filters", PredicateJson.of(filters))
            .with("parallelism", SparkSession.active().sparkContext().defaultParallelism());
    this.request = more.apply(shape.addTo(scan));
  }

  /** Lets Python plan the scan, or answer it on the driver if the rows are few. */
  Scan planned() {
    return of(plan());
  }

  /** Returns Python's answer to this request: a plan, or the rows. */
  JsonNode plan() {
    return PythonBridge.ask(planRequest()).get();
  }

  /** Returns the scan of an answer. */
  Scan of(JsonNode plan) {
    return AnsweredScan.isIn(plan) ? new AnsweredScan(this, plan) : new IndexTablesScan(this, plan);
  }

  /** Lets Python plan the scan, to be run in tasks however few rows it has. */
  Scan inTasks() {
    return new IndexTablesScan(this, PythonBridge.ask(planRequest().with("in_tasks", true)).get());
  }

  private Request planRequest() {
    return request.with("command", "plan").with("hosts", Json.strings(Executors.hosts()));
  }

  /** Returns the scan of Spark's own Python source. A plan that is too large for an option is left out and made again. */
  Scan python(JsonNode plan) {
    return PythonBridge.scan(Figures.addedTo(schema), request.with("plan", plan).with("figures", Json.yes()));
  }

  StructType schema() {
    return schema;
  }

  ScanShape shape() {
    return shape;
  }

  String description(JsonNode plan) {
    String where = filters.stream().map(PredicateSql::of).collect(Collectors.joining(" AND "));
    long foreign = plan.path("splits_foreign").asLong();
    String ranked = plan.path("scores").asText("");
    return "indextables "
        + path
        + (where.isEmpty() ? "" : ", where " + where)
        + shape
        + (foreign == 0 ? "" : ", " + foreign + " splits of another program, faster after MERGE SPLITS")
        + (ranked.isEmpty() || plan.path("scores").isNull() ? "" : ", scores by the statistics of " + ranked);
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof ScanRequest that && that.schema.equals(schema) && that.request.equals(request);
  }

  @Override
  public int hashCode() {
    return request.hashCode();
  }
}
