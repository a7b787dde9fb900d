package io.indextables.spark;

import com.fasterxml.jackson.databind.JsonNode;

/** What a task returns of the matching rows: all, any {@code n}, the {@code n} best, or an aggregate. */
record ScanShape(Kind kind, int n, JsonNode aggregate, String description) {
  enum Kind {
    ALL,
    LIMIT,
    TOP,
    AGGREGATE
  }

  static final ScanShape ALL_ROWS = new ScanShape(Kind.ALL, 0, null, "");

  static ScanShape limit(int n) {
    return new ScanShape(Kind.LIMIT, n, null, ", limit " + n);
  }

  static ScanShape top(int n) {
    return new ScanShape(Kind.TOP, n, null, ", best " + n + " by _score");
  }

  static ScanShape aggregate(JsonNode aggregate, String description) {
    return new ScanShape(Kind.AGGREGATE, 0, aggregate, ", " + description);
  }

  boolean isAggregate() {
    return kind == Kind.AGGREGATE;
  }

  Request addTo(Request request) {
    return switch (kind) {
      case ALL -> request;
      case LIMIT -> request.with("limit", n);
      case TOP -> request.with("top", n);
      case AGGREGATE -> request.with("aggregate", aggregate);
    };
  }

  @Override
  public String toString() {
    return description;
  }
}
