package io.indextables.spark;

/** Which of the matching rows a task returns: all, any {@code n}, the {@code n} best, or only their number. */
record ScanShape(Kind kind, int n) {
  enum Kind {
    ALL,
    LIMIT,
    TOP,
    COUNT
  }

  static final ScanShape ALL_ROWS = new ScanShape(Kind.ALL, 0);
  static final ScanShape COUNT = new ScanShape(Kind.COUNT, 0);

  static ScanShape limit(int n) {
    return new ScanShape(Kind.LIMIT, n);
  }

  static ScanShape top(int n) {
    return new ScanShape(Kind.TOP, n);
  }

  Request addTo(Request request) {
    return switch (kind) {
      case ALL -> request;
      case LIMIT -> request.with("limit", n);
      case TOP -> request.with("top", n);
      case COUNT -> request.with("aggregate", "count");
    };
  }

  @Override
  public String toString() {
    return switch (kind) {
      case ALL -> "";
      case LIMIT -> ", limit " + n;
      case TOP -> ", best " + n + " by _score";
      case COUNT -> ", count only";
    };
  }
}
