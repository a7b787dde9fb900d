package io.indextables.spark;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.OptionalLong;
import org.apache.spark.sql.connector.read.Statistics;

/** The estimated size of a planned scan, by which Spark chooses joins. */
record PlanStatistics(OptionalLong sizeInBytes, OptionalLong numRows) implements Statistics {
  static final Statistics UNKNOWN = new PlanStatistics(OptionalLong.empty(), OptionalLong.empty());

  static Statistics of(JsonNode plan) {
    return new PlanStatistics(OptionalLong.of(plan.get("bytes").asLong()), countOf(plan.get("rows")));
  }

  /** A number that the log does not have for every file is null, so that Spark does not take it for 0. */
  private static OptionalLong countOf(JsonNode number) {
    return number.isNull() ? OptionalLong.empty() : OptionalLong.of(number.asLong());
  }
}
