package io.indextables.spark;

import java.util.List;
import java.util.function.Function;
import java.util.stream.Stream;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkEnv;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.storage.BlockManagerId;
import scala.jdk.javaapi.CollectionConverters;

/** The executors that run now, by the names that Spark's scheduler has for them and for their hosts. */
final class Executors {
  private Executors() {}

  /** Returns the hosts of the executors, each once, in order. */
  static List<String> hosts() {
    return each(BlockManagerId::host);
  }

  /** Returns the executors as preferred locations of tasks, in order: {@code executor_<host>_<id>}. */
  static List<String> locations() {
    return each(executor -> "executor_" + executor.host() + "_" + executor.executorId());
  }

  /** The driver counts only where it runs the tasks itself. */
  private static List<String> each(Function<BlockManagerId, String> name) {
    SparkContext context = SparkSession.active().sparkContext();
    var managers = SparkEnv.get().blockManager().master().getMemoryStatus().keys();
    Stream<BlockManagerId> executors = CollectionConverters.asJava(managers.toSeq()).stream();
    return executors
        .filter(executor -> context.isLocal() || !executor.isDriver())
        .map(name)
        .distinct()
        .sorted()
        .toList();
  }
}
