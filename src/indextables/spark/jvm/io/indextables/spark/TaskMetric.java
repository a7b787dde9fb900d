package io.indextables.spark;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.stream.Stream;
import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;

/** What the tasks of a scan did, in Spark's SQL tab. The classes are public because Spark creates them by name. */
public abstract class TaskMetric extends NamedMetric {
  TaskMetric(String name, String description) {
    super(name, description);
  }

  private static TaskMetric[] metrics() {
    return new TaskMetric[] {
      new SplitsSearched(), new RowsFetched(), new BytesRead(), new CacheHits(), new CacheMisses()
    };
  }

  static CustomMetric[] all() {
    return metrics();
  }

  /** Returns the figures of one task, by the names of the metrics. */
  static CustomTaskMetric[] values(JsonNode figures) {
    return Stream.of(metrics())
        .map(metric -> metric.of(figures.path(metric.name()).asLong()))
        .toArray(CustomTaskMetric[]::new);
  }

  /** Splits that tasks have opened. Where the log knows a count, no task opens the split. */
  public static final class SplitsSearched extends TaskMetric {
    public SplitsSearched() {
      super("splitsSearched", "splits searched");
    }
  }

  /** Rows that tasks have read from splits. */
  public static final class RowsFetched extends TaskMetric {
    public RowsFetched() {
      super("rowsFetched", "rows fetched");
    }
  }

  /** Bytes that stores have sent to tasks. */
  public static final class BytesRead extends TaskMetric {
    public BytesRead() {
      super("bytesRead", "bytes read");
    }
  }

  /** Indexes that tasks have found in the cache, in memory or on disk. */
  public static final class CacheHits extends TaskMetric {
    public CacheHits() {
      super("cacheHits", "indexes found in the cache");
    }
  }

  /** Indexes that tasks have extracted from splits. */
  public static final class CacheMisses extends TaskMetric {
    public CacheMisses() {
      super("cacheMisses", "indexes not in the cache");
    }
  }
}
