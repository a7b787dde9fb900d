package io.indextables.spark;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.OptionalLong;
import org.apache.spark.sql.connector.read.Statistics;

/** How much a planned scan will read, for Spark to choose its joins by. */
record PlanStatistics(OptionalLong sizeInBytes, OptionalLong numRows) implements Statistics {
  static Statistics of(JsonNode plan) {
    return new PlanStatistics(OptionalLong.of(plan.get("bytes").asLong()), known(plan.get("rows")));
  }

  /** A number that the log does not say of every file is null; Spark must not take it for 0. */
  private static OptionalLong known(JsonNode number) {
    return number.isNull() ? OptionalLong.empty() : OptionalLong.of(number.asLong());
  }
}
