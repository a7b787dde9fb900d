package io.indextables.spark;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.Option;

/**
 * The tasks of a command. Spark's Python workers run them as the scan of a table, whose rows are the results of the tasks.
 * Python on the driver has written the tasks to a file, and finishes the command when it gets the results.
 */
record TaskJob(Request request) implements SupportsRead {
  private static final StructType RESULT = new StructType().add("result", DataTypes.StringType);

  /** Runs the tasks and returns the answer to the command. */
  static JsonNode finished(Request command, String file) {
    try {
      List<String> results = new TaskJob(command.with("command", "job").with("job", file)).run();
      return PythonBridge.ask(command.with("job", file).with("results", Json.strings(results))).get();
    } finally {
      delete(Path.of(file));
    }
  }

  private List<String> run() {
    LogicalPlan plan = DataSourceV2Relation.create(this, Option.empty(), Option.empty());
    var session = (org.apache.spark.sql.classic.SparkSession) SparkSession.active();
    return Dataset.ofRows(session, plan).as(Encoders.STRING()).collectAsList();
  }

  @Override
  public String name() {
    return PythonBridge.NAME + " tasks";
  }

  @Override
  @SuppressWarnings("deprecation")
  public StructType schema() {
    return RESULT;
  }

  @Override
  public Set<TableCapability> capabilities() {
    return EnumSet.of(TableCapability.BATCH_READ);
  }

  @Override
  public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
    return () -> PythonBridge.scan(RESULT, request);
  }

  private static void delete(Path file) {
    try {
      Files.deleteIfExists(file);
    } catch (IOException e) {
      // No process reads it again. A file that stays is in the system's temporary directory, which the system cleans.
    }
  }
}
