package io.indextables.spark;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.stream.Stream;
import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.metric.CustomSumMetric;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;

/**
 * The metrics of a scan in Spark's SQL tab: which splits its plan leaves out, and what its tasks did. The classes are public
 * because Spark creates them by name.
 */
public abstract class ScanMetric extends CustomSumMetric {
  private final String name;
  private final String description;

  ScanMetric(String name, String description) {
    this.name = name;
    this.description = description;
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public String description() {
    return description;
  }

  /** Returns the value of the metric in the plan of a scan, or in the figures of a task. */
  long in(JsonNode figures) {
    return figures.path(name).asLong();
  }

  private static Stream<ScanMetric> metricsOfPlans() {
    return Stream.of(
        new Considered(), new Read(), new Skipped(), new ByManifest(), new ByBlock(), new ByPartition(), new ByMinMax(), new ByBloom());
  }

  private static Stream<ScanMetric> metricsOfTasks() {
    return Stream.of(new SplitsSearched(), new RowsFetched(), new BytesRead(), new CacheHits(), new CacheMisses());
  }

  static CustomMetric[] all() {
    return Stream.concat(metricsOfPlans(), metricsOfTasks()).toArray(CustomMetric[]::new);
  }

  static CustomTaskMetric[] ofPlan(JsonNode plan) {
    return values(metricsOfPlans(), plan);
  }

  /** Returns the figures of one task, by the names of the metrics. */
  static CustomTaskMetric[] ofTask(JsonNode figures) {
    return values(metricsOfTasks(), figures);
  }

  private static CustomTaskMetric[] values(Stream<ScanMetric> metrics, JsonNode figures) {
    return metrics.map(metric -> new Value(metric.name, metric.in(figures))).toArray(CustomTaskMetric[]::new);
  }

  private record Value(String name, long value) implements CustomTaskMetric {}

  private static long total(JsonNode plan) {
    return plan.get("splits_total").asLong();
  }

  private static long read(JsonNode plan) {
    return plan.get("splits_read").asLong();
  }

  /** Splits of the version that is read. */
  public static final class Considered extends ScanMetric {
    public Considered() {
      super("splitsConsidered", "splits considered");
    }

    @Override
    long in(JsonNode plan) {
      return total(plan);
    }
  }

  /** Splits that the scan opens. */
  public static final class Read extends ScanMetric {
    public Read() {
      super("splitsRead", "splits read");
    }

    @Override
    long in(JsonNode plan) {
      return read(plan);
    }
  }

  /** Splits that no task reads: those that were pruned, and those beyond a limit. */
  public static final class Skipped extends ScanMetric {
    public Skipped() {
      super("splitsSkipped", "splits skipped");
    }

    @Override
    long in(JsonNode plan) {
      return total(plan) - read(plan);
    }
  }

  /** Splits that one stage of pruning has dropped. A dataset of column groups has no such stages. */
  abstract static class Pruned extends ScanMetric {
    private final String stage;

    Pruned(String name, String stage) {
      super(name, "splits pruned by " + stage);
      this.stage = stage;
    }

    @Override
    long in(JsonNode plan) {
      return plan.path("dropped").path(stage).asLong();
    }
  }

  /** Splits of manifests whose partition bounds exclude a match. */
  public static final class ByManifest extends Pruned {
    public ByManifest() {
      super("splitsPrunedByManifestBounds", "manifest bounds");
    }
  }

  /** Splits of blocks of a manifest whose bounds exclude a match. */
  public static final class ByBlock extends Pruned {
    public ByBlock() {
      super("splitsPrunedByBlockBounds", "block bounds");
    }
  }

  /** Splits whose partition values exclude a match. */
  public static final class ByPartition extends Pruned {
    public ByPartition() {
      super("splitsPrunedByPartitionValues", "partition values");
    }
  }

  /** Splits whose smallest and largest values exclude a match. */
  public static final class ByMinMax extends Pruned {
    public ByMinMax() {
      super("splitsPrunedByMinMax", "min/max");
    }
  }

  /** Splits whose Bloom filters exclude a match. */
  public static final class ByBloom extends Pruned {
    public ByBloom() {
      super("splitsPrunedByBloomFilters", "Bloom filters");
    }
  }

  /** Splits that tasks have opened. Where the log knows a count, no task opens the split. */
  public static final class SplitsSearched extends ScanMetric {
    public SplitsSearched() {
      super("splitsSearched", "splits searched");
    }
  }

  /** Rows that tasks have read from splits. */
  public static final class RowsFetched extends ScanMetric {
    public RowsFetched() {
      super("rowsFetched", "rows fetched");
    }
  }

  /** Bytes that stores have sent to tasks. */
  public static final class BytesRead extends ScanMetric {
    public BytesRead() {
      super("bytesRead", "bytes read");
    }
  }

  /** Indexes that tasks have found in the cache, in memory or on disk. */
  public static final class CacheHits extends ScanMetric {
    public CacheHits() {
      super("cacheHits", "indexes found in the cache");
    }
  }

  /** Indexes that tasks have extracted from splits. */
  public static final class CacheMisses extends ScanMetric {
    public CacheMisses() {
      super("cacheMisses", "indexes not in the cache");
    }
  }
}
