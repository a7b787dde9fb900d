package io.indextables.spark;

import java.util.Arrays;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.connector.distributions.Distribution;
import org.apache.spark.sql.connector.expressions.Expressions;
import org.apache.spark.sql.connector.expressions.SortDirection;
import org.apache.spark.sql.connector.expressions.SortOrder;
import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.write.BatchWrite;
import org.apache.spark.sql.connector.write.RequiresDistributionAndOrdering;
import org.apache.spark.sql.connector.write.Write;

/**
 * The Python write, with its rows distributed first. Spark sizes the tasks when it knows how many bytes were shuffled: small
 * ones are combined, and the rows of a large partition are divided among several tasks. Where there are no partitions, the
 * rows of neighbouring tasks are combined, and keep their order.
 */
final class IndexTablesWrite implements RequiresDistributionAndOrdering {
  private final Write python;
  private final RowDistribution rows;
  private final Upkeep upkeep;

  IndexTablesWrite(Write python, RowDistribution rows, Upkeep upkeep) {
    this.python = python;
    this.rows = rows;
    this.upkeep = upkeep;
  }

  @Override
  public Distribution requiredDistribution() {
    return rows.required();
  }

  @Override
  public boolean distributionStrictlyRequired() {
    return rows.isBalanced();
  }

  @Override
  public int requiredNumPartitions() {
    return rows.isBalanced() ? SparkSession.active().sparkContext().defaultParallelism() : 0;
  }

  @Override
  public long advisoryPartitionSizeInBytes() {
    return rows.shuffleBytes();
  }

  @Override
  public SortOrder[] requiredOrdering() {
    return Arrays.stream(RowDistribution.references(rows.sortBy()))
        .map(column -> Expressions.sort(column, SortDirection.ASCENDING))
        .toArray(SortOrder[]::new);
  }

  @Override
  public BatchWrite toBatch() {
    return new PlainErrorsBatchWrite(python.toBatch(), upkeep);
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
