package io.indextables.spark;

import org.apache.spark.QueryContext;
import org.apache.spark.sql.AnalysisException;
import scala.Option;
import scala.collection.immutable.Map$;

/** Makes the errors that users see: each is an AnalysisException with a plain sentence. */
final class Failures {
  private Failures() {}

  /** Use as {@code throw Failures.analysis(...)}: AnalysisException is checked, but most callers do not declare it. */
  static RuntimeException analysis(String message) {
    return analysis(message, Option.empty());
  }

  /** Uses the error condition by which Spark, and {@code spark.catalog.tableExists}, recognize a missing table. */
  static RuntimeException noSuchTable(String message) {
    return analysis(message, Option.apply("TABLE_OR_VIEW_NOT_FOUND"));
  }

  private static RuntimeException analysis(String message, Option<String> condition) {
    return unchecked(
        new AnalysisException(
            message,
            Option.empty(),
            Option.empty(),
            Option.empty(),
            condition,
            Map$.MODULE$.empty(),
            new QueryContext[0]));
  }

  @SuppressWarnings("unchecked")
  static <T extends Throwable> RuntimeException unchecked(Throwable failure) throws T {
    throw (T) failure;
  }
}
