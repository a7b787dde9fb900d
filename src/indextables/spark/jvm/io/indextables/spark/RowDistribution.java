package io.indextables.spark;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.List;
import org.apache.spark.sql.connector.distributions.Distribution;
import org.apache.spark.sql.connector.distributions.Distributions;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.Expressions;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.internal.SQLConf;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * How rows reach the tasks of a write, as Python has planned it.
 *
 * @param clusterBy the columns whose values decide the task of a row; empty: rows stay where they are
 * @param sortBy the columns by which a task gets its rows sorted: those of the table's partitions
 * @param shuffleBytes the size of the shuffled rows of a task, or 0 for a task for each core
 * @param inOrder there are no columns, and the rows of neighbouring tasks come together, in their order
 */
record RowDistribution(List<String> clusterBy, List<String> sortBy, long shuffleBytes, boolean inOrder) {
  /** Rows stay in the tasks that have them. */
  static final RowDistribution NONE = new RowDistribution(List.of(), List.of(), 0, false);

  private static final Logger LOG = LoggerFactory.getLogger(RowDistribution.class);

  static RowDistribution of(JsonNode plan) {
    List<String> clusterBy = Json.strings(plan.get("cluster_by"));
    List<String> sortBy = Json.strings(plan.get("sort_by"));
    boolean inOrder = plan.get("in_order").asBoolean();
    RowDistribution distribution =
        new RowDistribution(clusterBy, sortBy, plan.get("shuffle_bytes").asLong(0), inOrder);
    return inOrder && !canDivide() ? NONE : distribution;
  }

  /**
   * Returns true if Spark divides a large shuffle partition among tasks. Rows that keep their order are all shuffled to
   * one partition, since they are clustered by a constant, and those of a task are together in it. Spark divides it between
   * such tasks into parts of {@link #shuffleBytes}, when it knows how many bytes each task has shuffled. Without that, one
   * task would write all rows.
   */
  private static boolean canDivide() {
    SQLConf conf = SQLConf.get();
    var divides = SQLConf.ADAPTIVE_OPTIMIZE_SKEWS_IN_REBALANCE_PARTITIONS_ENABLED();
    if (conf.adaptiveExecutionEnabled() && (boolean) conf.getConf(divides)) {
      return true;
    }
    LOG.info(
        "The rows of a write stay in their tasks, since {} or {} is false",
        SQLConf.ADAPTIVE_EXECUTION_ENABLED().key(),
        divides.key());
    return false;
  }

  boolean isBalanced() {
    return !clusterBy.isEmpty() && shuffleBytes == 0;
  }

  /** Returns what rows must have in common to come together. */
  Distribution required() {
    if (inOrder) {
      return Distributions.clustered(new Expression[] {Expressions.literal(0)});
    }
    return clusterBy.isEmpty() ? Distributions.unspecified() : Distributions.clustered(references(clusterBy));
  }

  /** Returns references to columns. A name is not parsed: it may have a dot in it. */
  static NamedReference[] references(List<String> columns) {
    return columns.stream()
        .map(column -> Expressions.column("`" + column.replace("`", "``") + "`"))
        .toArray(NamedReference[]::new);
  }
}
