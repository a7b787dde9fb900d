package io.indextables.spark;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.analysis.NoSuchFunctionException;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.analysis.TableAlreadyExistsException;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.FunctionCatalog;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.ProcedureCatalog;
import org.apache.spark.sql.connector.catalog.StagedTable;
import org.apache.spark.sql.connector.catalog.StagingTableCatalog;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableChange;
import org.apache.spark.sql.connector.catalog.TableWritePrivilege;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;
import org.apache.spark.sql.connector.catalog.procedures.UnboundProcedure;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * The catalog of tables by path, {@code indextables.`/data/logs`}, of tables by a name of the session's catalog, {@code
 * indextables.default.logs}, of the search functions, and of the procedure that runs commands. It has no state.
 */
@SuppressWarnings("deprecation") // every supported Spark has the older of its createTable and stage methods
public class IndexTablesCatalog implements StagingTableCatalog, FunctionCatalog, ProcedureCatalog {
  static final String NAME = "indextables";
  private static final String CONF = "spark.sql.catalog." + NAME;

  private String name = NAME;

  /** Registers the catalog in a session that was started without it. */
  static void register(SparkSession session) {
    if (!session.conf().contains(CONF)) {
      session.conf().set(CONF, IndexTablesCatalog.class.getName());
    }
    IndexTablesSessionCatalog.register(session);
  }

  @Override
  public void initialize(String catalogName, CaseInsensitiveStringMap options) {
    name = catalogName;
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public String[] defaultNamespace() {
    return new String[0];
  }

  @Override
  public Identifier[] listTables(String[] namespace) {
    return NamedTables.list(namespace);
  }

  /** Throws the error for a missing table itself: Spark's own message would be about querying files of a format. */
  @Override
  public Table loadTable(Identifier ident) throws NoSuchTableException {
    return load(ident, ref(ident));
  }

  /** Loads a table for a write. It need not exist: the write creates it. */
  @Override
  public Table loadTable(Identifier ident, Set<TableWritePrivilege> privileges) throws NoSuchTableException {
    if (!tableExists(ident)) {
      throw new NoSuchTableException(ident);
    }
    return WritableTable.asTarget(loadTable(ident), privileges);
  }

  @Override
  public boolean tableExists(Identifier ident) {
    if (ident.namespace().length > 0) {
      return NamedTable.find(ident).isPresent();
    }
    if (StreamTarget.isSought()) {
      throw Failures.analysis(
          "toTable takes the name of a table; a stream is written to a path with writeStream.format(\"" + NAME
              + "\").start(\"" + ident.name() + "\")");
    }
    PythonBridge.Answer answer = PythonBridge.ask(Description.request(TableRef.of(ident.name())));
    return !answer.isNoTable() && answer.get() != null;
  }

  @Override
  public Table loadTable(Identifier ident, String version) throws NoSuchTableException {
    return load(ident, ref(ident).atVersion(version));
  }

  @Override
  public Table loadTable(Identifier ident, long timestampMicros) throws NoSuchTableException {
    return load(ident, ref(ident).atTimestamp(timestampMicros));
  }

  @Override
  public Table createTable(Identifier ident, Column[] columns, Transform[] partitioning, Map<String, String> properties)
      throws TableAlreadyExistsException {
    if (isNamed(ident)) {
      return NamedTables.create(ident, schema(columns), columns(partitioning), properties);
    }
    StagedWrite.create(created(ident, properties), WriteMode.ERROR, schema(columns), columns(partitioning))
        .commitStagedChanges();
    try {
      return loadTable(ident);
    } catch (NoSuchTableException e) {
      throw Failures.unchecked(e);
    }
  }

  @Override
  public StagedTable stageCreate(
      Identifier ident, Column[] columns, Transform[] partitioning, Map<String, String> properties)
      throws TableAlreadyExistsException {
    if (isNamed(ident)) {
      return NamedTables.stageCreate(ident, schema(columns), columns(partitioning), properties);
    }
    return StagedWrite.create(created(ident, properties), WriteMode.ERROR, schema(columns), columns(partitioning));
  }

  @Override
  public StagedTable stageReplace(
      Identifier ident, Column[] columns, Transform[] partitioning, Map<String, String> properties)
      throws NoSuchTableException {
    if (!tableExists(ident)) {
      loadTable(ident); // throws the error for a missing table
    }
    return stageCreateOrReplace(ident, columns, partitioning, properties);
  }

  @Override
  public StagedTable stageCreateOrReplace(
      Identifier ident, Column[] columns, Transform[] partitioning, Map<String, String> properties) {
    if (isNamed(ident)) {
      return NamedTables.stageReplace(ident, schema(columns), columns(partitioning), properties);
    }
    return StagedWrite.create(created(ident, properties), WriteMode.OVERWRITE, schema(columns), columns(partitioning));
  }

  @Override
  public Table alterTable(Identifier ident, TableChange... changes) throws NoSuchTableException {
    PythonBridge.ask(Request.of("alter_table", ref(ident)).with("changes", TableChanges.json(changes))).get();
    return loadTable(ident);
  }

  @Override
  public boolean dropTable(Identifier ident) {
    return drop(ident, false);
  }

  @Override
  public boolean purgeTable(Identifier ident) {
    return drop(ident, true);
  }

  private static boolean drop(Identifier ident, boolean purge) {
    if (ident.namespace().length > 0) {
      return NamedTable.find(ident).map(named -> NamedTables.drop(ident, named, purge)).orElse(false);
    }
    throw new UnsupportedOperationException(
        "DROP TABLE is not supported for a table by its path, which is its directory; delete " + ident.name()
            + ". DROP TABLE takes the name of a table, as in DROP TABLE logs");
  }

  @Override
  public void renameTable(Identifier from, Identifier to) {
    if (from.namespace().length > 0 && NamedTable.find(from).isPresent()) {
      NamedTables.rename(from, to);
      return;
    }
    throw new UnsupportedOperationException(
        "RENAME TABLE is not supported for indextables: a table is its directory; move " + from.name());
  }

  @Override
  public Identifier[] listFunctions(String[] namespace) {
    return SearchFunction.NAMES.stream()
        .map(function -> Identifier.of(namespace, function))
        .toArray(Identifier[]::new);
  }

  @Override
  public UnboundFunction loadFunction(Identifier ident) throws NoSuchFunctionException {
    String function = ident.name().toLowerCase(Locale.ROOT);
    if (ident.namespace().length > 0 || !SearchFunction.NAMES.contains(function)) {
      throw new NoSuchFunctionException(ident);
    }
    return new SearchFunction(function);
  }

  @Override
  public Identifier[] listProcedures(String[] namespace) {
    return namespace.length > 0
        ? new Identifier[0]
        : new Identifier[] {Identifier.of(namespace, RunProcedure.NAME)};
  }

  @Override
  public UnboundProcedure loadProcedure(Identifier ident) {
    if (ident.namespace().length > 0 || !ident.name().equalsIgnoreCase(RunProcedure.NAME)) {
      throw Failures.analysis(
          "there is no procedure " + ident + "; " + NAME + "." + RunProcedure.NAME + "('...') runs every command");
    }
    return new RunProcedure();
  }

  /** Returns the error for a name that IndexTables for Scala takes for the companion index of another table. */
  protected static RuntimeException companionNotSupported(String name) {
    return Failures.analysis(
        name + " names the companion index of another table, and companion indexes are not supported; write the rows of "
            + "that table into a table of indextables, and name it by its path, as in indextables.`/data/logs`");
  }

  private static Table load(Identifier ident, TableRef ref) {
    Optional<NamedTable> named = NamedTable.find(ident);
    if (named.isPresent() && StreamTarget.isSought()) {
      return new StreamTarget(named.get());
    }
    return named.isPresent() ? named.get().load(ref) : new WritableTable(ref, Description.of(ref));
  }

  /** Returns the error for a name that is not one of a table. A name without a namespace is a path. */
  protected NoSuchTableException inNamespace(Identifier ident) {
    return new NoSuchTableException(ident);
  }

  /** Returns whether this names a table of the session's catalog, {@code indextables.default.logs}, and not a path. */
  private static boolean isNamed(Identifier ident) {
    return ident.namespace().length == 1;
  }

  private TableRef ref(Identifier ident) throws NoSuchTableException {
    if (ident.namespace().length == 0) {
      return TableRef.of(ident.name());
    }
    Optional<NamedTable> named = NamedTable.find(ident);
    if (named.isEmpty()) {
      throw inNamespace(ident);
    }
    return named.get().ref();
  }

  private TableRef created(Identifier ident, Map<String, String> properties) {
    Replacement.refuse(properties);
    try {
      TableRef table = ref(ident).withProperties(properties);
      String location = properties.get(PROP_LOCATION);
      if (location != null && !TableRef.isSamePath(location, table.path())) {
        throw Failures.analysis(
            "LOCATION '" + location + "' is not the path in the table's name, " + table.path()
                + "; leave LOCATION out, or name the table indextables.`" + location + "`");
      }
      return table;
    } catch (NoSuchTableException e) {
      throw Failures.analysis("a table of the catalog indextables is named by its path, as in indextables.`/data/logs`, or by its database and "
              + "name, as in indextables.default.logs");
    }
  }

  static StructType schema(Column[] columns) {
    StructType schema = new StructType();
    for (Column column : columns) {
      if (column.defaultValue() != null || column.generationExpression() != null || column.identityColumnSpec() != null) {
        throw Failures.analysis("column " + column.name() + " has a DEFAULT, GENERATED or IDENTITY clause, which SQL cannot give a column of a search table; "
                + "in Python, Table.alter(add=..., default=...) takes a default");
      }
      schema = schema.add(column.name(), column.dataType(), column.nullable());
    }
    return schema;
  }

  static List<String> columns(Transform[] partitioning) {
    List<String> columns = new ArrayList<>();
    for (Transform transform : partitioning) {
      NamedReference[] references = transform.references();
      if (!transform.name().equals("identity") || references.length != 1 || references[0].fieldNames().length != 1) {
        throw Failures.analysis("PARTITIONED BY takes plain columns; " + transform.describe() + " is not one");
      }
      columns.add(references[0].fieldNames()[0]);
    }
    return columns;
  }
}
