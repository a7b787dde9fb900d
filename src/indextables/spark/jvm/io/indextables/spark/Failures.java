package io.indextables.spark;

import org.apache.spark.QueryContext;
import org.apache.spark.sql.AnalysisException;
import scala.Option;
import scala.collection.immutable.Map$;

/** The one kind of error a user sees from here: an AnalysisException with a plain sentence in it. */
final class Failures {
  private Failures() {}

  /** Written as {@code throw Failures.analysis(...)}; Spark's AnalysisException is checked, most of its callers are not. */
  static RuntimeException analysis(String message) {
    return analysis(message, Option.empty());
  }

  /** With the condition by which Spark, and {@code spark.catalog.tableExists}, know a table that is not there. */
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
