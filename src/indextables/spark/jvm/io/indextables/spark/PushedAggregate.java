package io.indextables.spark;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.aggregate.AggregateFunc;
import org.apache.spark.sql.connector.expressions.aggregate.Aggregation;
import org.apache.spark.sql.connector.expressions.aggregate.Avg;
import org.apache.spark.sql.connector.expressions.aggregate.Count;
import org.apache.spark.sql.connector.expressions.aggregate.CountStar;
import org.apache.spark.sql.connector.expressions.aggregate.Max;
import org.apache.spark.sql.connector.expressions.aggregate.Min;
import org.apache.spark.sql.connector.expressions.aggregate.Sum;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/**
 * An aggregate that Spark has offered, and Python's answer to it: the result, a plan by which each task returns partial
 * results that Spark combines, or a refusal.
 */
final class PushedAggregate {
  private final JsonNode asked;
  private final ScanShape shape;
  private final JsonNode answer;
  private final Scan scan;

  private PushedAggregate(JsonNode asked, ScanShape shape, JsonNode answer, Scan scan) {
    this.asked = asked;
    this.shape = shape;
    this.answer = answer;
    this.scan = scan;
  }

  /** Asks Python, unless {@code last} is its answer to the same aggregate. */
  static PushedAggregate of(Aggregation aggregation, TableRef table, List<Predicate> filters, PushedAggregate last) {
    ObjectNode json = json(aggregation);
    if (last != null && last.asked.equals(json)) {
      return last;
    }
    ScanShape shape = ScanShape.aggregate(json, description(aggregation));
    JsonNode answer = new ScanRequest(table, new StructType(), filters, shape).plan();
    if (answer.path("refused").asBoolean()) {
      return new PushedAggregate(json, shape, answer, null);
    }
    StructType schema = (StructType) DataType.fromJson(answer.get("schema").asText());
    return new PushedAggregate(json, shape, answer, new ScanRequest(table, schema, filters, shape).of(answer));
  }

  boolean isAccepted() {
    return scan != null;
  }

  /** Returns whether the driver has the result, with one row for each group. */
  boolean isComplete() {
    return scan instanceof AnsweredScan;
  }

  /** Returns whether Spark may not ask for sums and counts in place of this aggregate's averages. */
  boolean keepsAverages() {
    return !isAccepted() && !answer.path("as_sums").asBoolean();
  }

  ScanShape shape() {
    return shape;
  }

  Scan scan() {
    return scan;
  }

  private static ObjectNode json(Aggregation aggregation) {
    ObjectNode json = Json.object();
    json.set("groups", PredicateJson.of(List.of(aggregation.groupByExpressions())));
    ArrayNode measures = json.putArray("measures");
    for (AggregateFunc function : aggregation.aggregateExpressions()) {
      ObjectNode measure = measures.addObject();
      measure.put("op", name(function));
      measure.set("args", PredicateJson.of(List.of(function.children())));
    }
    return json;
  }

  /** Returns the name by which Python knows a function; another name if it does not. */
  private static String name(AggregateFunc function) {
    if (function instanceof CountStar) {
      return "COUNT_STAR";
    } else if (function instanceof Count count && !count.isDistinct()) {
      return "COUNT";
    } else if (function instanceof Sum sum && !sum.isDistinct()) {
      return "SUM";
    } else if (function instanceof Avg avg && !avg.isDistinct()) {
      return "AVG";
    } else if (function instanceof Min) {
      return "MIN";
    } else if (function instanceof Max) {
      return "MAX";
    }
    return "OTHER";
  }

  private static String description(Aggregation aggregation) {
    AggregateFunc[] functions = aggregation.aggregateExpressions();
    Expression[] groups = aggregation.groupByExpressions();
    if (groups.length == 0 && functions.length == 1 && functions[0] instanceof CountStar) {
      return "count only";
    }
    String measures = described(Arrays.stream(functions));
    String keys = described(Arrays.stream(groups));
    return "aggregate" + (measures.isEmpty() ? "" : " " + measures) + (keys.isEmpty() ? "" : " by " + keys);
  }

  private static String described(Stream<? extends Expression> expressions) {
    return expressions.map(Expression::describe).collect(Collectors.joining(", "));
  }
}
