package io.indextables.spark;

import java.util.List;
import org.apache.spark.sql.connector.distributions.Distribution;
import org.apache.spark.sql.connector.distributions.Distributions;
import org.apache.spark.sql.connector.expressions.Expressions;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.SortDirection;
import org.apache.spark.sql.connector.expressions.SortOrder;
import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.write.BatchWrite;
import org.apache.spark.sql.connector.write.RequiresDistributionAndOrdering;
import org.apache.spark.sql.connector.write.Write;

/**
 * The Python write, with the rows of a partitioned table clustered first, so that a task writes one partition after the
 * other. Spark decides which task gets which rows, so it can divide a large partition among several tasks.
 */
final class IndexTablesWrite implements RequiresDistributionAndOrdering {
  private final Write python;
  private final List<String> partitionColumns;

  IndexTablesWrite(Write python, List<String> partitionColumns) {
    this.python = python;
    this.partitionColumns = partitionColumns;
  }

  @Override
  public Distribution requiredDistribution() {
    return partitionColumns.isEmpty()
        ? Distributions.unspecified()
        : Distributions.clustered(columns().toArray(NamedReference[]::new));
  }

  @Override
  public boolean distributionStrictlyRequired() {
    return false;
  }

  @Override
  public SortOrder[] requiredOrdering() {
    return columns().map(column -> Expressions.sort(column, SortDirection.ASCENDING)).toArray(SortOrder[]::new);
  }

  private java.util.stream.Stream<NamedReference> columns() {
    return partitionColumns.stream().map(Expressions::column);
  }

  @Override
  public BatchWrite toBatch() {
    return new PlainErrorsBatchWrite(python.toBatch());
  }

  @Override
  public CustomMetric[] supportedCustomMetrics() {
    return python.supportedCustomMetrics();
  }

  @Override
  public CustomTaskMetric[] reportDriverMetrics() {
    return python.reportDriverMetrics();
  }

  @Override
  public String description() {
    return "indextables";
  }
}
