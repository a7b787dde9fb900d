package io.indextables.spark;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HexFormat;
import java.util.List;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.GeneralScalarExpression;
import org.apache.spark.sql.connector.expressions.Literal;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.UserDefinedScalarFunc;

/**
 * Spark's pushed expressions as JSON. Python interprets them and decides which to accept. Each expression becomes one node,
 * except that a chain of ANDs or ORs is one node: a DataFrame's conditions nest as deep as the chain is long.
 */
final class PredicateJson {
  /** Python accepts no filter that is nested this deeply, and parses no JSON that is nested much more deeply. */
  private static final int MAX_DEPTH = 100;

  private PredicateJson() {}

  static ArrayNode of(List<? extends Expression> expressions) {
    return of(expressions, 0);
  }

  private static ArrayNode of(List<? extends Expression> expressions, int depth) {
    ArrayNode array = Json.array();
    expressions.forEach(expression -> array.add(of(expression, depth)));
    return array;
  }

  private static ObjectNode of(Expression expression, int depth) {
    ObjectNode node = Json.object();
    if (depth > MAX_DEPTH) {
      node.put("opaque", "nested");
    } else if (expression instanceof NamedReference reference) {
      node.set("col", Json.strings(List.of(reference.fieldNames())));
    } else if (expression instanceof Literal<?> literal) {
      node.put("lit", text(literal.value())).put("type", literal.dataType().simpleString());
    } else if (expression instanceof UserDefinedScalarFunc function && isOurs(function.canonicalName())) {
      node.put("udf", function.name()).set("args", of(List.of(function.children()), depth + 1));
    } else if (expression instanceof GeneralScalarExpression scalar) {
      node.put("op", scalar.name()).set("args", of(arguments(scalar), depth + 1));
    } else {
      node.put("opaque", expression.getClass().getSimpleName());
    }
    return node;
  }

  private static boolean isOurs(String canonicalName) {
    return SearchFunction.isOurs(canonicalName) || BucketFunction.isOurs(canonicalName);
  }

  /** Returns the children. Those of a chain of ANDs or ORs come from left to right, however the chain is nested. */
  private static List<Expression> arguments(GeneralScalarExpression scalar) {
    String name = scalar.name();
    if (!name.equals("AND") && !name.equals("OR")) {
      return List.of(scalar.children());
    }
    List<Expression> arguments = new ArrayList<>();
    Deque<Expression> waiting = new ArrayDeque<>(List.of(scalar.children()));
    while (!waiting.isEmpty()) {
      Expression next = waiting.pop();
      if (next instanceof GeneralScalarExpression inner && inner.name().equals(name)) {
        for (int i = inner.children().length - 1; i >= 0; i--) {
          waiting.push(inner.children()[i]);
        }
      } else {
        arguments.add(next);
      }
    }
    return arguments;
  }

  /** Literals are Catalyst's own values: days for a date, microseconds for a timestamp, UTF8String for a string. */
  private static String text(Object value) {
    if (value == null) {
      return null;
    }
    return value instanceof byte[] bytes ? HexFormat.of().formatHex(bytes) : value.toString();
  }
}
