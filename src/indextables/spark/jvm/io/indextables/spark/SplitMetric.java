package io.indextables.spark;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.stream.Stream;
import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;

/** The metrics of a scan in Spark's SQL tab. The classes are public because Spark creates them by name. */
public abstract class SplitMetric extends NamedMetric {
  SplitMetric(String name, String description) {
    super(name, description);
  }

  /** Returns the value of the metric in the plan of a scan. */
  abstract long in(JsonNode plan);

  private static SplitMetric[] metrics() {
    return new SplitMetric[] {
      new Considered(), new Read(), new Skipped(), new ByManifest(), new ByBlock(), new ByPartition(), new ByMinMax(), new ByBloom()
    };
  }

  static CustomMetric[] all() {
    return metrics();
  }

  static CustomTaskMetric[] values(JsonNode plan) {
    return Stream.of(metrics()).map(metric -> metric.of(metric.in(plan))).toArray(CustomTaskMetric[]::new);
  }

  private static long total(JsonNode plan) {
    return plan.get("splits_total").asLong();
  }

  private static long read(JsonNode plan) {
    return plan.get("splits_read").asLong();
  }

  /** Splits of the version that is read. */
  public static final class Considered extends SplitMetric {
    public Considered() {
      super("splitsConsidered", "splits considered");
    }

    @Override
    long in(JsonNode plan) {
      return total(plan);
    }
  }

  /** Splits that the scan opens. */
  public static final class Read extends SplitMetric {
    public Read() {
      super("splitsRead", "splits read");
    }

    @Override
    long in(JsonNode plan) {
      return read(plan);
    }
  }

  /** Splits that no task reads: those that were pruned, and those beyond a limit. */
  public static final class Skipped extends SplitMetric {
    public Skipped() {
      super("splitsSkipped", "splits skipped");
    }

    @Override
    long in(JsonNode plan) {
      return total(plan) - read(plan);
    }
  }

  /** Splits that one stage of pruning has dropped. A dataset of column groups has no such stages. */
  abstract static class Pruned extends SplitMetric {
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
}
