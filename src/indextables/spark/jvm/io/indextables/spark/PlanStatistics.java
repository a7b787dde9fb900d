package io.indextables.spark;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.OptionalLong;
import org.apache.spark.sql.connector.read.Statistics;

/** How much a planned scan will read, for Spark to choose its joins by. */
record PlanStatistics(OptionalLong sizeInBytes, OptionalLong numRows) implements Statistics {
  static Statistics of(JsonNode plan) {
    return new PlanStatistics(OptionalLong.of(plan.get("bytes").asLong()), OptionalLong.of(plan.get("rows").asLong()));
  }
}
