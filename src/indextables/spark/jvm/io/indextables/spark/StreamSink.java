package io.indextables.spark;

import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.streaming.Sink;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * Writes each batch of a streaming query as one write of a table. The commit records the query's id and the number of the
 * batch, so a batch that Spark runs again is not written again.
 */
final class StreamSink implements Sink {
  private static final String QUERY_ID = "sql.streaming.queryId"; // a property of the thread that runs the query
  private static final String APPLICATION = "txnAppId";
  private static final String NUMBER = "txnVersion";
  /** Options of the query, in lower case, that are not for the table. */
  private static final Set<String> OF_QUERY = Set.of("checkpointlocation", "queryname");

  private final Map<String, String> options;
  private final List<String> partitionBy;
  private final SaveMode mode;

  private StreamSink(Map<String, String> options, List<String> partitionBy, SaveMode mode) {
    this.options = options;
    this.partitionBy = partitionBy;
    this.mode = mode;
  }

  static StreamSink create(Map<String, String> options, List<String> partitionBy, OutputMode mode) {
    CaseInsensitiveStringMap given = new CaseInsensitiveStringMap(options);
    if (given.containsKey(APPLICATION) || given.containsKey(NUMBER)) {
      throw Failures.analysis(
          APPLICATION + " and " + NUMBER + " are options of the writes in foreachBatch; a streaming write uses the id of "
              + "its query and the number of the batch");
    }
    Map<String, String> ofTable = new TreeMap<>(options);
    ofTable.keySet().removeIf(key -> OF_QUERY.contains(key.toLowerCase(Locale.ROOT)));
    return new StreamSink(ofTable, partitionBy, saveMode(mode));
  }

  private static SaveMode saveMode(OutputMode mode) {
    if (mode.equals(OutputMode.Append())) {
      return SaveMode.Append;
    }
    if (mode.equals(OutputMode.Complete())) {
      return SaveMode.Overwrite;
    }
    throw Failures.analysis(
        "indextables does not support the output mode " + mode.toString().toLowerCase(Locale.ROOT)
            + "; append adds the rows of each batch, and complete replaces the table by the whole result");
  }

  /** Returns the id of the streaming query that runs in this thread, or null. */
  static String queryId() {
    return org.apache.spark.sql.SparkSession.active().sparkContext().getLocalProperty(QUERY_ID);
  }

  @Override
  public void addBatch(long batch, Dataset<Row> data) {
    var rows = (org.apache.spark.sql.classic.Dataset<Row>) data;
    SparkSession session = writeSession(rows.sparkSession());
    Map<String, String> all = new HashMap<>(options);
    all.put(APPLICATION, queryId());
    all.put(NUMBER, Long.toString(batch));
    all.put("partitionOverwriteMode", "static"); // complete replaces the table, whatever the session's default
    // The plan of a batch can be run but not planned again, so the write gets its rows.
    Dataset<Row> planned = session.internalCreateDataFrame(rows.queryExecution().toRdd(), rows.schema(), false);
    var writer = planned.write().format(PythonBridge.NAME).mode(mode).options(all);
    if (!partitionBy.isEmpty()) {
      writer.partitionBy(partitionBy.toArray(new String[0]));
    }
    writer.save();
  }

  /**
   * Returns a session for the write alone. Spark turns adaptive execution off in the session of a streaming query, since it
   * could change the tasks of stateful operators; without it, a write of few rows in partitions has as many tasks as
   * spark.sql.shuffle.partitions says.
   */
  private static SparkSession writeSession(SparkSession ofQuery) {
    SparkSession session = ofQuery.cloneSession();
    String adaptive = SQLConf.ADAPTIVE_EXECUTION_ENABLED().key();
    SparkContext context = session.sparkContext();
    session.conf().set(adaptive, context.getConf().get(adaptive, "true"));
    return session;
  }

  @Override
  public String toString() {
    return PythonBridge.NAME + "[" + new CaseInsensitiveStringMap(options).get("path") + "]";
  }
}
