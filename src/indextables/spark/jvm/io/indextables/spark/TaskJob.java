package io.indextables.spark;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.Option;

/**
 * The tasks of a command. Spark's Python workers run them as the scan of a table, whose rows are the results of the tasks.
 * Python on the driver has written the tasks to a file, and finishes the command when it gets the results.
 */
final class TaskJob implements SupportsRead {
  private static final String DESCRIPTION = "spark.job.description";
  private static final Logger LOG = LoggerFactory.getLogger(TaskJob.class);

  private final String description;
  private final Scan scan;

  private TaskJob(Request request, JsonNode answer) {
    description = answer.get("description").asText();
    scan = new JobScan(request, answer.get("locations"));
  }

  /** Runs the tasks of the job that Python has answered with, and returns the answer to the command. */
  static JsonNode finished(Request command, JsonNode job) {
    String file = job.get("job").asText();
    try {
      List<Row> rows = new TaskJob(command.with("command", "job").with("job", file), job).run();
      return PythonBridge.ask(
              command
                  .with("job", file)
                  .with("results", Json.strings(rows.stream().map(row -> row.getString(0)).toList()))
                  .with("places", Json.strings(rows.stream().map(row -> row.getString(1)).toList())))
          .get();
    } finally {
      delete(Path.of(file));
    }
  }

  /** Spark's UI and its progress bar show the job by its description, with what is done of the command. */
  private List<Row> run() {
    LOG.info(description);
    LogicalPlan plan = DataSourceV2Relation.create(this, Option.empty(), Option.empty());
    var session = (org.apache.spark.sql.classic.SparkSession) SparkSession.active();
    SparkContext context = session.sparkContext();
    String before = context.getLocalProperty(DESCRIPTION);
    context.setJobDescription(description);
    try {
      return Dataset.ofRows(session, plan).collectAsList();
    } finally {
      context.setJobDescription(before);
    }
  }

  @Override
  public String name() {
    return description;
  }

  @Override
  @SuppressWarnings("deprecation")
  public StructType schema() {
    return scan.readSchema();
  }

  @Override
  public Set<TableCapability> capabilities() {
    return EnumSet.of(TableCapability.BATCH_READ);
  }

  @Override
  public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
    return () -> scan;
  }

  private static void delete(Path file) {
    try {
      Files.deleteIfExists(file);
    } catch (IOException e) {
      // No process reads it again. A file that stays is in the system's temporary directory, which the system cleans.
    }
  }
}
