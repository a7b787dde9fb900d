package io.indextables.spark;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.analysis.TableAlreadyExistsException;
import org.apache.spark.sql.catalyst.catalog.CatalogUtils;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.StagedTable;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.connector.catalog.TableChange;
import org.apache.spark.sql.connector.expressions.Expressions;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.execution.datasources.v2.V2SessionCatalog;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The statements on tables by name, for the session's catalog and for names in the catalog {@code indextables}. Both keep the
 * names where Spark keeps them, in the metastore.
 *
 * <p>A name is recorded before its table is created, and removed after its files: the metastore decides which of two sessions
 * creates a name, and a crash leaves a name without a table, which DROP TABLE removes.
 */
@SuppressWarnings("deprecation") // every supported Spark has the older of its createTable methods
final class NamedTables {
  private static final Set<String> SPARK_PROPERTIES =
      Set.of(
          TableCatalog.PROP_LOCATION,
          TableCatalog.PROP_PROVIDER,
          TableCatalog.PROP_EXTERNAL,
          TableCatalog.PROP_IS_MANAGED_LOCATION,
          TableCatalog.PROP_OWNER,
          "collation");

  /** In lower case. */
  private static final Set<String> WRITE_OPTIONS = Set.of("mergeschema", "txnappid", "txnversion");

  private NamedTables() {}

  /** Returns whether a property is one that Spark sets itself, or a copy that Spark keeps of an option. */
  static boolean isOfSpark(String property) {
    return SPARK_PROPERTIES.contains(property) || property.startsWith(TableCatalog.OPTION_PREFIX);
  }

  /** Returns whether a property is an option of the write that creates a table, and not of the table. */
  private static boolean isOfOneWrite(String property) {
    String option = property.startsWith(TableCatalog.OPTION_PREFIX) ? property.substring(TableCatalog.OPTION_PREFIX.length()) : property;
    return WRITE_OPTIONS.contains(option.toLowerCase(Locale.ROOT));
  }

  private static V2SessionCatalog metastore() {
    return new V2SessionCatalog(NamedTable.sessionCatalog());
  }

  /** Creates a table and its name; if there is a table at the location, gives it the name. */
  static Table create(Identifier ident, StructType schema, List<String> partitionBy, Map<String, String> properties)
      throws TableAlreadyExistsException {
    Replacement.refuse(properties);
    refuseExisting(ident);
    TableRef target = target(ident, properties);
    PythonBridge.Answer description = PythonBridge.ask(Description.request(TableRef.of(target.path())));
    if (!description.isNoTable()) {
      Description table = Description.from(description.get());
      checkSame(target, table, schema, partitionBy);
      register(ident, table.schema(), table.partitionColumns(), properties);
    } else {
      if (schema.isEmpty()) {
        throw Failures.noSuchTable(
            "there is no table at " + target.path() + ", and CREATE TABLE " + ident
                + " names no columns. Name the columns to create one, as in CREATE TABLE " + ident + " (message STRING)");
      }
      if (StreamTarget.isSought()) {
        register(ident, schema, partitionBy, properties);
        return load(ident); // the first batch creates the table, with the options of the query
      }
      StagedTable staged = stageCreate(ident, schema, partitionBy, properties);
      try {
        staged.commitStagedChanges();
      } catch (RuntimeException | Error e) {
        staged.abortStagedChanges();
        throw e;
      }
    }
    return load(ident);
  }

  /** Records the name; the write then creates the table. */
  static StagedTable stageCreate(Identifier ident, StructType schema, List<String> partitionBy, Map<String, String> properties)
      throws TableAlreadyExistsException {
    Replacement.refuse(properties);
    refuseExisting(ident);
    return staged(ident, WriteMode.ERROR, schema, partitionBy, properties);
  }

  /** Replaces the rows and columns of a table as its next version. The name keeps its location. */
  static StagedTable stageReplace(Identifier ident, StructType schema, List<String> partitionBy, Map<String, String> properties) {
    Replacement.refuse(properties);
    Optional<NamedTable> named = NamedTable.find(ident);
    if (named.isEmpty()) {
      if (metastore().tableExists(ident)) {
        throw Failures.analysis(
            ident + " is a table of another format, which a table of indextables cannot replace; DROP TABLE it first");
      }
      return staged(ident, WriteMode.OVERWRITE, schema, partitionBy, properties);
    }
    String location = properties.get(TableCatalog.PROP_LOCATION);
    if (location != null && !TableRef.isSamePath(location, named.get().location())) {
      throw Failures.analysis(
          named.get().name() + " is at " + named.get().location() + ", and REPLACE TABLE keeps it there. Leave LOCATION out, "
              + "or DROP TABLE it first");
    }
    TableRef ref = TableRef.of(named.get().location()).withProperties(properties);
    StagedWrite write = StagedWrite.create(ref, WriteMode.OVERWRITE, schema, partitionBy);
    return NamedStage.of(write, () -> replaceProperties(ident, named.get(), properties), () -> {});
  }

  private static StagedTable staged(
      Identifier ident, WriteMode mode, StructType schema, List<String> partitionBy, Map<String, String> properties) {
    StagedWrite write = StagedWrite.create(target(ident, properties), mode, schema, partitionBy);
    register(ident, schema, partitionBy, properties);
    return NamedStage.of(write, () -> {}, () -> withdraw(ident, write.path()));
  }

  /**
   * Removes a name whose table was not created by this session. If there is a table at its location, another session has
   * created it, one that keeps its names in another metastore: the directory of a managed table then stays.
   */
  private static void withdraw(Identifier ident, String location) {
    if (!PythonBridge.ask(Description.request(TableRef.of(location))).isNoTable()) {
      // Spark deletes the directory that a managed name has when it is dropped: it gets one that does not exist.
      String nowhere = location.replaceAll("/+$", "") + "-" + UUID.randomUUID();
      metastore().alterTable(ident, new TableChange[] {TableChange.setProperty(TableCatalog.PROP_LOCATION, nowhere)});
    }
    metastore().dropTable(ident);
  }

  static Table load(Identifier ident) {
    NamedTable named = NamedTable.find(ident).orElseThrow(() -> Failures.unchecked(new NoSuchTableException(ident)));
    return StreamTarget.isSought() ? new StreamTarget(named) : named.load(named.ref());
  }

  /** Removes a name. The files of a managed table go to the trash, or at once if {@code purge}; others stay. */
  static boolean drop(Identifier ident, NamedTable named, boolean purge) {
    if (named.isManaged()) {
      Trash.remove(named.location(), purge);
    }
    return metastore().dropTable(ident);
  }

  static void rename(Identifier from, Identifier to) {
    metastore().renameTable(from, to);
  }

  static Identifier[] list(String[] namespace) {
    if (namespace.length != 1) {
      return new Identifier[0];
    }
    return Arrays.stream(metastore().listTables(namespace))
        .filter(ident -> NamedTable.find(ident).isPresent())
        .toArray(Identifier[]::new);
  }

  private static void refuseExisting(Identifier ident) throws TableAlreadyExistsException {
    if (metastore().tableExists(ident)) {
      throw new TableAlreadyExistsException(ident);
    }
  }

  private static TableRef target(Identifier ident, Map<String, String> properties) {
    return TableRef.of(location(ident, properties)).withProperties(properties);
  }

  private static String location(Identifier ident, Map<String, String> properties) {
    String given = properties.get(TableCatalog.PROP_LOCATION);
    return given != null
        ? given
        : CatalogUtils.URIToString(NamedTable.sessionCatalog().defaultTablePath(NamedTable.identifier(ident)));
  }

  /** Records a name in the metastore. A managed table is one without LOCATION. */
  private static void register(Identifier ident, StructType schema, List<String> partitionBy, Map<String, String> properties) {
    Map<String, String> recorded = new TreeMap<>(properties);
    recorded.keySet().removeIf(NamedTables::isOfOneWrite);
    if (!properties.containsKey(TableCatalog.PROP_LOCATION)) {
      recorded.put(TableCatalog.PROP_LOCATION, location(ident, properties));
      recorded.put(TableCatalog.PROP_IS_MANAGED_LOCATION, "true");
    }
    recorded.put(TableCatalog.PROP_PROVIDER, PythonBridge.NAME);
    List<Column> columns = new ArrayList<>();
    for (StructField field : schema.fields()) {
      columns.add(Column.create(field.name(), field.dataType(), field.nullable()));
    }
    Transform[] partitioning = partitionBy.stream().map(Expressions::identity).toArray(Transform[]::new);
    IndexTablesProvider.withoutTable(
        () -> metastore().createTable(ident, columns.toArray(new Column[0]), partitioning, recorded));
  }

  /** Throws if a statement describes the table at its location as another table than it is. */
  private static void checkSame(TableRef target, Description table, StructType schema, List<String> partitionBy) {
    if (!schema.isEmpty() && !schema.asNullable().equals(table.schema().asNullable())) {
      throw Failures.analysis(
          "the table at " + target.path() + " has the columns " + table.schema().toDDL() + ", not " + schema.toDDL()
              + ". Leave the columns out to give it a name");
    }
    if (!partitionBy.isEmpty() && !partitionBy.equals(table.partitionColumns())) {
      throw Failures.analysis(
          "the table at " + target.path() + " is partitioned by " + table.partitionColumns() + ", not by " + partitionBy
              + ". Leave PARTITIONED BY out to give it a name");
    }
    Request append = // Python checks the settings that a table is made with, as it does for an append
        Request.of("plan_write", target)
            .with("mode", WriteMode.APPEND.word())
            .with("schema", table.schema().json())
            .with("partition_by", Json.strings(table.partitionColumns()));
    PythonBridge.ask(append).get();
  }

  private static void replaceProperties(Identifier ident, NamedTable named, Map<String, String> properties) {
    Map<String, String> old = CollectionConverters.asJava(named.entry().properties());
    List<TableChange> changes = new ArrayList<>();
    old.keySet().stream()
        .filter(key -> !SPARK_PROPERTIES.contains(key) && !properties.containsKey(key))
        .forEach(key -> changes.add(TableChange.removeProperty(key)));
    properties.forEach(
        (key, value) -> {
          if (!SPARK_PROPERTIES.contains(key) && !isOfOneWrite(key) && !value.equals(old.get(key))) {
            changes.add(TableChange.setProperty(key, value));
          }
        });
    if (!changes.isEmpty()) {
      metastore().alterTable(ident, changes.toArray(new TableChange[0]));
    }
  }
}
