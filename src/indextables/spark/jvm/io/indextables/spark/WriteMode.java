package io.indextables.spark;

import org.apache.spark.sql.SaveMode;

/** What a write does with an existing table. */
enum WriteMode {
  APPEND,
  OVERWRITE,
  ERROR,
  IGNORE;

  static WriteMode of(SaveMode mode) {
    return switch (mode) {
      case Append -> APPEND;
      case Overwrite -> OVERWRITE;
      case ErrorIfExists -> ERROR;
      case Ignore -> IGNORE;
    };
  }

  String word() {
    return name().toLowerCase(java.util.Locale.ROOT);
  }
}
