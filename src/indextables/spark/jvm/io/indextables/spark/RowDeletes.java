package io.indextables.spark;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.connector.expressions.filter.Predicate;

/** {@code DELETE FROM} and {@code TRUNCATE TABLE}: Python looks up the rows, by tasks if they are in many splits. */
final class RowDeletes {
  /** How often a delete is run while merges move its rows to other files. */
  private static final int TRIES = 5;

  private RowDeletes() {}

  /** Returns whether Python decides the conditions. Spark asks under EXPLAIN too, so nothing is changed here. */
  static boolean canDelete(TableRef table, Predicate[] predicates) {
    return undecided(table, predicates) == null;
  }

  /** Returns true. Throws if Python cannot decide one of the conditions by which an overwrite replaces rows. */
  static boolean canReplace(TableRef table, Predicate[] predicates) {
    Predicate undecided = undecided(table, predicates);
    if (undecided == null) {
      return true;
    }
    throw Failures.analysis(
        "an overwrite of " + table.name() + " cannot decide the condition " + PredicateSql.of(undecided)
            + ": it takes searches, and comparisons of columns with literals by =, <>, <, <=, >, >=, <=>, IN, LIKE and "
            + "IS NULL, joined by AND, OR and NOT. DELETE FROM takes any condition");
  }

  private static Predicate undecided(TableRef table, Predicate[] predicates) {
    refuseDatasets(table);
    Request request = Request.of("pushdown", table).with("filters", PredicateJson.of(List.of(predicates)));
    List<Integer> undecided =
        IntStream.range(0, predicates.length).boxed().collect(Collectors.toCollection(java.util.ArrayList::new));
    for (JsonNode index : PythonBridge.ask(request).get().get("accepted")) {
      undecided.remove(Integer.valueOf(index.asInt()));
    }
    return undecided.isEmpty() ? null : predicates[undecided.get(0)];
  }

  static void delete(TableRef table, Predicate[] predicates) {
    refuseDatasets(table);
    Request request =
        Request.of("delete", table)
            .with("filters", PredicateJson.of(List.of(predicates)))
            .with("parallelism", SparkSession.active().sparkContext().defaultParallelism());
    JsonNode answer = run(request);
    for (int attempt = 1; attempt < TRIES && answer.has("moved"); attempt++) {
      answer = run(request);
    }
    if (answer.has("moved")) {
      throw Failures.analysis(answer.get("moved").asText());
    }
    new Upkeep(table, answer.get("upkeep")).afterCommit(0);
  }

  private static JsonNode run(Request request) {
    JsonNode answer = PythonBridge.ask(request).get();
    return answer.has("job") ? TaskJob.finished(request, answer) : answer;
  }

  private static void refuseDatasets(TableRef table) {
    if (table.columns() != null) {
      throw Failures.analysis(
          "DELETE FROM " + table.name() + ": rows of a dataset of column groups are deleted by a delta log, with "
              + "indextables.columns.write_delta and Transaction.add_delta_log in Python");
    }
  }
}
