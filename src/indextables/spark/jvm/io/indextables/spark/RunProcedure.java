package io.indextables.spark;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.procedures.BoundProcedure;
import org.apache.spark.sql.connector.catalog.procedures.ProcedureParameter;
import org.apache.spark.sql.connector.catalog.procedures.UnboundProcedure;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** {@code CALL indextables.run('...')}: sends a command to Python and returns its rows. */
final class RunProcedure implements UnboundProcedure, BoundProcedure {
  static final String NAME = "run";

  @Override
  public String name() {
    return NAME;
  }

  @Override
  public String description() {
    return "runs a command of indextables";
  }

  @Override
  public BoundProcedure bind(StructType arguments) {
    return this;
  }

  @Override
  public boolean isDeterministic() {
    return false;
  }

  @Override
  public ProcedureParameter[] parameters() {
    return new ProcedureParameter[] {ProcedureParameter.in("command", DataTypes.StringType).build()};
  }

  @Override
  public Iterator<Scan> call(InternalRow arguments) {
    if (arguments.isNullAt(0)) {
      throw Failures.analysis("the command to run is NULL");
    }
    Request command =
        Request.of("sql", TableRef.sessionSettings())
            .with("sql", arguments.getString(0))
            .with("merge_jobs", Json.strings(MergeJob.asJson()))
            .with("executors", Json.strings(Executors.locations()))
            .with("parallelism", SparkSession.active().sparkContext().defaultParallelism())
            .with("driver", Figures.ofThisExecutor());
    JsonNode answer = PythonBridge.ask(command).get();
    if (answer.has("locate")) { // nothing has run yet: Spark has to look up the table's location first
      String path = NamedTable.location(Json.strings(answer.get("locate")));
      answer = PythonBridge.ask(command.with("located", path)).get();
    }
    if (answer.has("empty_trash")) { // the names, and so the places of the trash, are Spark's
      return List.<Scan>of(Trash.empty(answer.get("empty_trash"))).iterator();
    }
    while (answer.has("job")) { // a merge has one job for each batch that it commits
      answer = TaskJob.finished(command, answer);
    }
    return List.<Scan>of(CommandRows.of(answer)).iterator();
  }
}
