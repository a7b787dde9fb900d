package io.indextables.spark;

import org.apache.spark.sql.connector.metric.CustomSumMetric;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;

/** A metric of a scan in Spark's SQL tab. Its subclasses are public because Spark creates them by name. */
public abstract class NamedMetric extends CustomSumMetric {
  private final String name;
  private final String description;

  NamedMetric(String name, String description) {
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

  /** Returns a value of this metric. */
  CustomTaskMetric of(long value) {
    return new Value(name, value);
  }

  private record Value(String name, long value) implements CustomTaskMetric {}
}
