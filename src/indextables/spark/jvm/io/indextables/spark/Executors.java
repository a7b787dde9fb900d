package io.indextables.spark;

import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkEnv;
import org.apache.spark.SparkExecutorInfo;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.storage.BlockManagerId;

/** The executors that run now, by the names that Spark's scheduler has for their hosts. */
final class Executors {
  private Executors() {}

  /** Returns the hosts of the executors, each once, in order. The driver counts only where it runs the tasks itself. */
  static List<String> hosts() {
    SparkContext context = SparkSession.active().sparkContext();
    BlockManagerId driver = SparkEnv.get().blockManager().blockManagerId();
    return Arrays.stream(context.statusTracker().getExecutorInfos())
        .filter(executor -> context.isLocal() || !isAt(executor, driver))
        .map(SparkExecutorInfo::host)
        .distinct()
        .sorted()
        .toList();
  }

  private static boolean isAt(SparkExecutorInfo executor, BlockManagerId id) {
    return executor.host().equals(id.host()) && executor.port() == id.port();
  }

  /** Returns the id of this executor and its host, in a task. */
  static Stream<String> own() {
    SparkEnv env = SparkEnv.get();
    return Stream.of(env.executorId(), env.blockManager().blockManagerId().host());
  }
}
