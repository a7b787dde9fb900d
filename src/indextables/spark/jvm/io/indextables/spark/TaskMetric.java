package io.indextables.spark;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.stream.Stream;
import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.metric.CustomSumMetric;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;

/** What the tasks of a scan did, in Spark's SQL tab. The classes are public because Spark creates them by name. */
public abstract class TaskMetric extends CustomSumMetric {
  private final String name;
  private final String description;

  TaskMetric(String name, String description) {
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

  static CustomMetric[] all() {
    return new CustomMetric[] {
      new SplitsSearched(), new RowsFetched(), new BytesRead(), new CacheHits(), new CacheMisses()
    };
  }

  /** Returns the figures of one task, by the names of the metrics. */
  static CustomTaskMetric[] values(JsonNode figures) {
    return Stream.of(all())
        .map(metric -> new Value(metric.name(), figures.path(metric.name()).asLong()))
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

  private record Value(String name, long value) implements CustomTaskMetric {}
}
