package io.indextables.spark;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.streaming.CompositeReadLimit;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.connector.read.streaming.ReadMaxBytes;
import org.apache.spark.sql.connector.read.streaming.ReadMaxFiles;
import org.apache.spark.sql.connector.read.streaming.SupportsTriggerAvailableNow;
import org.apache.spark.sql.types.StructType;

/**
 * A table as a stream of batches. Python decides where the stream begins, where a batch ends and what is in it; offsets are
 * texts that only Python reads. The tasks of a batch are those of Spark's own Python source.
 */
final class TableStream implements MicroBatchStream, SupportsTriggerAvailableNow {
  private final TableRef table;
  private final StructType schema;
  private Long until; // the last version of a query that reads what is available now
  private PlannedBatch planned;

  TableStream(TableRef table, StructType schema) {
    this.table = table;
    this.schema = schema;
  }

  /** Spark compares offsets by their JSON. */
  private static final class StreamOffset extends Offset {
    private final String json;

    StreamOffset(String json) {
      this.json = json;
    }

    @Override
    public String json() {
      return json;
    }
  }

  private record PlannedBatch(String start, String end, Batch python, JsonNode hosts) {}

  private Request request(String command) {
    return Request.of(command, table).with("schema", schema.json());
  }

  @Override
  public Offset initialOffset() {
    return new StreamOffset(PythonBridge.ask(request("stream_start")).get().get("offset").asText());
  }

  @Override
  public Offset deserializeOffset(String json) {
    return new StreamOffset(json);
  }

  @Override
  public Offset latestOffset() {
    throw new UnsupportedOperationException("Spark asks a stream with admission control for an offset within limits");
  }

  @Override
  public ReadLimit getDefaultReadLimit() {
    JsonNode given = PythonBridge.ask(request("stream_limits")).get();
    List<ReadLimit> limits = new ArrayList<>();
    if (given.hasNonNull("max_files")) {
      limits.add(ReadLimit.maxFiles(given.get("max_files").asInt()));
    }
    if (given.hasNonNull("max_bytes")) {
      limits.add(ReadLimit.maxBytes(given.get("max_bytes").asLong()));
    }
    return limits.size() == 1 ? limits.get(0) : ReadLimit.compositeLimit(limits.toArray(new ReadLimit[0]));
  }

  @Override
  public void prepareForTriggerAvailableNow() {
    until = PythonBridge.ask(request("stream_newest")).get().get("version").asLong();
  }

  @Override
  public Offset latestOffset(Offset start, ReadLimit limit) {
    Request request = within(limit, request("stream_latest").with("start", start.json()));
    if (until != null) {
      request = request.with("until", until);
    }
    return new StreamOffset(PythonBridge.ask(request).get().get("offset").asText());
  }

  private static Request within(ReadLimit limit, Request request) {
    if (limit instanceof CompositeReadLimit composite) {
      Request all = request;
      for (ReadLimit part : composite.getReadLimits()) {
        all = within(part, all);
      }
      return all;
    }
    if (limit instanceof ReadMaxFiles files) {
      return request.with("max_files", files.maxFiles());
    }
    return limit instanceof ReadMaxBytes bytes ? request.with("max_bytes", bytes.maxBytes()) : request;
  }

  @Override
  public InputPartition[] planInputPartitions(Offset start, Offset end) {
    PlannedBatch batch = plan(start.json(), end.json());
    return LocatedPartition.of(batch.python().planInputPartitions(), batch.hosts());
  }

  /** A batch is planned once, though Spark asks for it again where a query reads the stream twice. */
  private synchronized PlannedBatch plan(String start, String end) {
    if (planned == null || !planned.start().equals(start) || !planned.end().equals(end)) {
      Request request =
          request("stream_plan")
              .with("start", start)
              .with("end", end)
              .with("parallelism", SparkSession.active().sparkContext().defaultParallelism())
              .with("hosts", Json.strings(Executors.hosts()));
      JsonNode plan = PythonBridge.ask(request).get();
      Request scan = request.with("command", "stream_scan").with("plan", plan.get("plan"));
      planned = new PlannedBatch(start, end, PythonBridge.scan(schema, scan).toBatch(), plan.path("hosts"));
    }
    return planned;
  }

  /** The function that reads a partition is the same for all batches. */
  @Override
  public synchronized PartitionReaderFactory createReaderFactory() {
    return new LocatedPartition.Factory(planned.python().createReaderFactory());
  }

  @Override
  public void commit(Offset end) {} // everything follows from the checkpoint and the log

  @Override
  public void stop() {}
}
