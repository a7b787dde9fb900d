package io.indextables.spark;

import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.SQLContext;
import org.apache.spark.sql.execution.streaming.Sink;
import org.apache.spark.sql.streaming.OutputMode;

/** The format "indextables.columns": datasets of column groups. Python describes and plans them, as it does tables. */
public final class ColumnsProvider extends IndexTablesProvider {
  static final String NAME = "indextables.columns";

  @Override
  public String shortName() {
    return NAME;
  }

  @Override
  protected Map<String, String> marked(Map<String, String> options) {
    Map<String, String> all = new HashMap<>(options);
    all.put(TableRef.COLUMNS, "true");
    return all;
  }

  @Override
  public Sink createSink(
      SQLContext context,
      scala.collection.immutable.Map<String, String> parameters,
      scala.collection.immutable.Seq<String> partitionColumns,
      OutputMode mode) {
    throw Failures.analysis(
        "streaming writes to " + NAME + " are not supported; write each batch of the stream as a dataset write, with "
            + "writeStream.foreachBatch(lambda rows, batch: rows.write.format(\"" + NAME + "\").mode(\"append\")"
            + ".save(\"/data/features\"))");
  }
}
