package io.indextables.spark;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Arrays;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import org.apache.spark.SparkEnv;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * What Python has counted for this JVM: requests, bytes, cache hits. Spark has no channel for such numbers. On the driver
 * they are in the answers of Python. In a task they are in its last row, as text in a column that no other row has a value
 * in; {@link FiguresFactory} removes that row.
 */
final class Figures {
  private static final String COLUMN = "__figures";
  /** Some names have a table's address in them. Tables beyond this number of names are not counted. */
  private static final int MAX_NAMES = 10_000;

  private static final Map<String, Long> TOTALS = new ConcurrentHashMap<>();

  private Figures() {}

  /** Returns the schema of Python's rows. The figures come last, so that the other columns keep their places. */
  static StructType addedTo(StructType schema) {
    Set<String> taken =
        Arrays.stream(schema.fieldNames()).map(name -> name.toLowerCase(Locale.ROOT)).collect(Collectors.toSet());
    String name = COLUMN;
    while (taken.contains(name)) {
      name += "_";
    }
    return schema.add(name, DataTypes.StringType);
  }

  /** Adds what Python has counted since it was asked last. */
  static void add(JsonNode counts) {
    counts.properties().forEach(count -> add(count.getKey(), count.getValue().asLong()));
  }

  private static void add(String name, long amount) {
    if (TOTALS.size() < MAX_NAMES || TOTALS.containsKey(name)) {
      TOTALS.merge(name, amount, Long::sum);
    }
  }

  /** Returns where this JVM runs and what Python has counted for it since it started, as JSON. */
  static String ofThisExecutor() {
    SparkEnv env = SparkEnv.get();
    ObjectNode place = Json.object();
    place.put("executor_id", env.executorId()).put("host", env.blockManager().blockManagerId().host());
    ObjectNode counts = place.putObject("counts");
    TOTALS.forEach(counts::put);
    return place.toString();
  }
}
