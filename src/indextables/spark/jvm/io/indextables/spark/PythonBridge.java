package io.indextables.spark;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.SupportsTruncate;
import org.apache.spark.sql.connector.write.Write;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceV2;
import org.apache.spark.sql.types.StructType;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * All calls from Java to Python. Each call uses its own {@link PythonDataSourceV2}: an instance keeps the reader of its last
 * scan and would use it for the next.
 */
final class PythonBridge {
  static final String NAME = "indextables";
  private static final String ANSWER = "__it";
  private static final Logger LOG = LoggerFactory.getLogger(PythonBridge.class);
  private static final Set<String> WARNED = ConcurrentHashMap.newKeySet();
  private static final int MAX_WARNED = 1000;

  private PythonBridge() {}

  /** Runs a command in Python on the driver. The answer or the error comes back as the metadata of a schema field. */
  static Answer ask(Request request) {
    StructType reply = source().inferSchema(request.asOptions());
    JsonNode answer = Json.parse(reply.apply(ANSWER).metadata().getString(ANSWER));
    Figures.add(answer.path("counts"));
    answer.path("warnings").forEach(warning -> warnOnce(warning.asText()));
    return new Answer(answer);
  }

  private static void warnOnce(String warning) {
    if (WARNED.size() < MAX_WARNED && WARNED.add(warning)) {
      LOG.warn(warning);
    }
  }

  static Scan scan(StructType schema, Request request) {
    return ((SupportsRead) table(schema, request)).newScanBuilder(request.asOptions()).build();
  }

  static Write write(LogicalWriteInfo info, Request request, boolean truncate) {
    LogicalWriteInfo forPython = new WriteInfo(info.queryId(), info.schema(), request.asOptions());
    WriteBuilder builder = ((SupportsWrite) table(info.schema(), request)).newWriteBuilder(forPython);
    return truncate ? ((SupportsTruncate) builder).truncate().build() : builder.build();
  }

  private static Table table(StructType schema, Request request) {
    return source().getTable(schema, new Transform[0], request.asOptions());
  }

  private static PythonDataSourceV2 source() {
    PythonDataSourceV2 source = new PythonDataSourceV2();
    source.setShortName(NAME);
    return source;
  }

  /** The answer of Python to a command. */
  record Answer(JsonNode json) {
    /** Returns the answer. If it is an error, throws it as an AnalysisException. */
    JsonNode get() {
      if (!json.has("error")) {
        return json;
      }
      String message = json.get("error").get("message").asText();
      throw isNoTable() ? Failures.noSuchTable(message) : Failures.analysis(message);
    }

    boolean isNoTable() {
      return json.has("error") && json.get("error").get("kind").asText().equals("TABLE_NOT_FOUND");
    }
  }
}
