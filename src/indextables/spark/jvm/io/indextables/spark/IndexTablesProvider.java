package io.indextables.spark;

import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SQLContext;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.catalyst.util.CaseInsensitiveMap;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.execution.streaming.Sink;
import org.apache.spark.sql.sources.BaseRelation;
import org.apache.spark.sql.sources.CreatableRelationProvider;
import org.apache.spark.sql.sources.DataSourceRegister;
import org.apache.spark.sql.sources.StreamSinkProvider;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The format "indextables" of DataFrameReader and DataFrameWriter. Its tables do not support writes by the V2 path, so
 * {@code save} takes the V1 path, which passes all four modes and the columns of {@code partitionBy} to a source.
 */
public class IndexTablesProvider
    implements TableProvider, DataSourceRegister, CreatableRelationProvider, StreamSinkProvider {
  /** The names of the format, in lower case. Those below the first are of IndexTables for Scala. */
  private static final Set<String> NAMES =
      Set.of(
          PythonBridge.NAME,
          Tantivy4SparkProvider.NAME,
          "io.indextables.provider.indextablesprovider",
          "io.indextables.spark.core.indextables4sparktableprovider");

  private static final ThreadLocal<Boolean> NEEDS_NO_TABLE = ThreadLocal.withInitial(() -> false);

  private Description description; // Spark makes a provider for each load and asks for the schema before the table

  @Override
  public String shortName() {
    return PythonBridge.NAME;
  }

  /** Returns whether a table that was created {@code USING} this name is of the format. */
  static boolean isNamed(String provider) {
    return NAMES.contains(provider.toLowerCase(Locale.ROOT));
  }

  /** Runs what records a name for a table that need not exist yet. */
  static void withoutTable(Callable<?> record) {
    NEEDS_NO_TABLE.set(true);
    try {
      record.call();
    } catch (Exception e) {
      throw Failures.unchecked(e);
    } finally {
      NEEDS_NO_TABLE.remove();
    }
  }

  /** Returns the options with the marks by which the rest of the jar knows the format. */
  protected Map<String, String> marked(Map<String, String> options) {
    return options;
  }

  @Override
  public StructType inferSchema(CaseInsensitiveStringMap options) {
    return describe(options.asCaseSensitiveMap()).schema();
  }

  /** Spark calls this first when it writes a stream, and when it reads with a schema that the user gave. */
  @Override
  public Transform[] inferPartitioning(CaseInsensitiveStringMap options) {
    if (!NEEDS_NO_TABLE.get()
        && !StackWalker.getInstance().walk(callers -> callers.anyMatch(IndexTablesProvider::writesStream))) {
      describe(options.asCaseSensitiveMap());
    } // else: the table need not exist
    return new Transform[0];
  }

  /** Without this, {@code save} would ask for the schema of a table that does not exist yet. */
  @Override
  public boolean supportsExternalMetadata() {
    return true;
  }

  @Override
  public Table getTable(StructType schema, Transform[] partitioning, Map<String, String> options) {
    TableRef ref = TableRef.of(marked(options));
    if (description == null) {
      return new UnreadTable(ref, schema);
    }
    if (!description.schema().asNullable().equals(schema.asNullable())) {
      throw Failures.analysis(
          "the table at " + ref.path() + " has a schema of its own (" + description.schema().toDDL()
              + "); read it without schema(...), then select and cast");
    }
    return description.isFeed() ? new ChangeFeed(ref, description) : new IndexTablesTable(ref, description);
  }

  @Override
  public BaseRelation createRelation(
      SQLContext context, SaveMode mode, scala.collection.immutable.Map<String, String> parameters, Dataset<Row> rows) {
    Map<String, String> options = marked(options(parameters));
    WriteMode writeMode = WriteMode.of(mode);
    refuseParts(TableRef.of(options), writeMode, new CaseInsensitiveStringMap(options));
    Request request = Request.of("prepare_write", TableRef.of(options)).with("mode", writeMode.word());
    if (!PythonBridge.ask(request).get().get("skip").asBoolean()) {
      rows.write()
          .format(WriteProvider.class.getName())
          .mode(mode == SaveMode.Overwrite ? SaveMode.Overwrite : SaveMode.Append)
          .options(options)
          .option(WriteProvider.MODE, writeMode.word())
          .save();
    }
    return new WrittenRelation(context, rows.schema());
  }

  /** Spark asks for a V1 sink, since no table of this format has the capability of a V2 streaming write. */
  @Override
  public Sink createSink(
      SQLContext context,
      scala.collection.immutable.Map<String, String> parameters,
      scala.collection.immutable.Seq<String> partitionColumns,
      OutputMode mode) {
    return StreamSink.create(options(parameters), CollectionConverters.asJava(partitionColumns), mode);
  }

  /** Refuses an overwrite of a part of a dataset of column groups: overwriting all of it would lose rows. */
  private static void refuseParts(TableRef table, WriteMode mode, CaseInsensitiveStringMap options) {
    if (table.columns() != null && mode == WriteMode.OVERWRITE && Replacement.of(options, mode).isPart()) {
      throw Failures.analysis(
          "a dataset of column groups is overwritten as a whole; replaceWhere and partitionOverwriteMode=dynamic are for "
              + "tables of format(\"indextables\")");
    }
  }

  /** Looks at the caller, since no argument tells a streaming write from a read. */
  private static boolean writesStream(StackWalker.StackFrame caller) {
    return caller.getClassName().endsWith(".DataStreamWriter");
  }

  private Description describe(Map<String, String> options) {
    if (description == null) {
      description = Description.of(TableRef.of(marked(options)));
    }
    return description;
  }

  private static Map<String, String> options(scala.collection.immutable.Map<String, String> parameters) {
    return new HashMap<>(
        CollectionConverters.asJava(
            parameters instanceof CaseInsensitiveMap<String> folded ? folded.originalMap() : parameters));
  }

  private static final class WrittenRelation extends BaseRelation {
    private final SQLContext context;
    private final StructType schema;

    WrittenRelation(SQLContext context, StructType schema) {
      this.context = context;
      this.schema = schema;
    }

    @Override
    public SQLContext sqlContext() {
      return context;
    }

    @Override
    public StructType schema() {
      return schema;
    }
  }
}
