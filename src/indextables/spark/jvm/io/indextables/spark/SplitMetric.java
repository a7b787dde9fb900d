package io.indextables.spark;

import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.metric.CustomSumMetric;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;

/** The metrics of a scan in Spark's SQL tab. The classes are public because Spark creates them by name. */
public abstract class SplitMetric extends CustomSumMetric {
  private final String name;
  private final String description;

  SplitMetric(String name, String description) {
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
    return new CustomMetric[] {new Read(), new Skipped()};
  }

  static CustomTaskMetric[] values(long read, long skipped) {
    return new CustomTaskMetric[] {new Value(Read.NAME, read), new Value(Skipped.NAME, skipped)};
  }

  /** Splits that the scan opens. */
  public static final class Read extends SplitMetric {
    static final String NAME = "splitsRead";

    public Read() {
      super(NAME, "splits read");
    }
  }

  /** Splits that were skipped by partition values and statistics. */
  public static final class Skipped extends SplitMetric {
    static final String NAME = "splitsSkipped";

    public Skipped() {
      super(NAME, "splits skipped");
    }
  }

  private record Value(String name, long value) implements CustomTaskMetric {}
}
