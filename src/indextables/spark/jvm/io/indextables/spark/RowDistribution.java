package io.indextables.spark;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.List;
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
 */
record RowDistribution(List<String> clusterBy, List<String> sortBy, long shuffleBytes) {
  /** Rows stay in the tasks that have them. */
  static final RowDistribution NONE = new RowDistribution(List.of(), List.of(), 0);

  private static final Logger LOG = LoggerFactory.getLogger(RowDistribution.class);

  static RowDistribution of(JsonNode plan) {
    List<String> clusterBy = Json.strings(plan.get("cluster_by"));
    List<String> sortBy = Json.strings(plan.get("sort_by"));
    RowDistribution distribution = new RowDistribution(clusterBy, sortBy, plan.get("shuffle_bytes").asLong(0));
    if (!clusterBy.isEmpty() && sortBy.isEmpty() && !distribution.isBalanced() && !SQLConf.get().adaptiveExecutionEnabled()) {
      // Without adaptive execution the number of tasks is fixed, and may be larger than that of the tasks before.
      LOG.warn(
          "The rows of a write are not shuffled to splits of a target size, since {} is false",
          SQLConf.ADAPTIVE_EXECUTION_ENABLED().key());
      return new RowDistribution(List.of(), List.of(), 0);
    }
    return distribution;
  }

  boolean isBalanced() {
    return !clusterBy.isEmpty() && shuffleBytes == 0;
  }

  /** Returns references to columns. A name is not parsed: it may have a dot in it. */
  static NamedReference[] references(List<String> columns) {
    return columns.stream()
        .map(column -> Expressions.column("`" + column.replace("`", "``") + "`"))
        .toArray(NamedReference[]::new);
  }
}
