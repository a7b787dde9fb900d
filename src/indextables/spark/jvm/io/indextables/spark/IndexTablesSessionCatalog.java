package io.indextables.spark;

import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.analysis.NoSuchNamespaceException;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.analysis.TableAlreadyExistsException;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.DelegatingCatalogExtension;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.StagedTable;
import org.apache.spark.sql.connector.catalog.StagingTableCatalog;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableChange;
import org.apache.spark.sql.connector.catalog.TableWritePrivilege;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.internal.SQLConf;

/**
 * The session's own catalog, {@code spark_catalog}, in which names of tables {@code USING indextables} mean the tables. What
 * is not about such a table goes to Spark's catalog.
 */
@SuppressWarnings("deprecation") // every supported Spark has the older of its createTable and stage methods
public class IndexTablesSessionCatalog extends DelegatingCatalogExtension implements StagingTableCatalog {
  private static final String CONF = "spark.sql.catalog." + NamedTable.SESSION_CATALOG;

  /** Makes this the session's catalog, unless the session names one, such as that of Delta or Iceberg. */
  static void register(SparkSession session) {
    if (!session.conf().contains(CONF)) {
      session.conf().set(CONF, IndexTablesSessionCatalog.class.getName());
    }
  }

  @Override
  public Table loadTable(Identifier ident) throws NoSuchTableException {
    if (StreamTarget.isSought() && NamedTable.find(ident).isPresent()) {
      return NamedTables.load(ident); // the table need not exist yet
    }
    Table table = delegated(ident);
    return table instanceof SearchedTable searched && searched.ref().columns() == null ? NamedTables.load(ident) : table;
  }

  @Override
  public Table loadTable(Identifier ident, Set<TableWritePrivilege> privileges) throws NoSuchTableException {
    return WritableTable.asTarget(loadTable(ident), privileges);
  }

  /** Loads as Spark does in a session without another catalog: it would take every table for one of a V1 format. */
  private Table delegated(Identifier ident) {
    SQLConf plain = SQLConf.get().clone();
    plain.setConfString(CONF, "builtin");
    return SQLConf.withExistingConf(
        plain,
        () -> {
          try {
            return super.loadTable(ident);
          } catch (NoSuchTableException e) {
            throw Failures.unchecked(e);
          }
        });
  }

  @Override
  public Table loadTable(Identifier ident, String version) throws NoSuchTableException {
    Optional<NamedTable> named = NamedTable.find(ident);
    return named.isPresent()
        ? named.get().load(named.get().ref().atVersion(version))
        : super.loadTable(ident, version);
  }

  @Override
  public Table loadTable(Identifier ident, long timestampMicros) throws NoSuchTableException {
    Optional<NamedTable> named = NamedTable.find(ident);
    return named.isPresent()
        ? named.get().load(named.get().ref().atTimestamp(timestampMicros))
        : super.loadTable(ident, timestampMicros);
  }

  @Override
  public Table createTable(Identifier ident, Column[] columns, Transform[] partitioning, Map<String, String> properties)
      throws TableAlreadyExistsException, NoSuchNamespaceException {
    return isOurs(properties)
        ? NamedTables.create(
            ident, IndexTablesCatalog.schema(columns), IndexTablesCatalog.columns(partitioning), properties)
        : super.createTable(ident, columns, partitioning, properties);
  }

  @Override
  public StagedTable stageCreate(
      Identifier ident, Column[] columns, Transform[] partitioning, Map<String, String> properties)
      throws TableAlreadyExistsException, NoSuchNamespaceException {
    return isOurs(properties)
        ? NamedTables.stageCreate(
            ident, IndexTablesCatalog.schema(columns), IndexTablesCatalog.columns(partitioning), properties)
        : foreign(ident, columns, partitioning, properties);
  }

  @Override
  public StagedTable stageReplace(
      Identifier ident, Column[] columns, Transform[] partitioning, Map<String, String> properties)
      throws NoSuchNamespaceException, NoSuchTableException {
    if (!tableExists(ident)) {
      throw new NoSuchTableException(ident);
    }
    return stageCreateOrReplace(ident, columns, partitioning, properties);
  }

  @Override
  public StagedTable stageCreateOrReplace(
      Identifier ident, Column[] columns, Transform[] partitioning, Map<String, String> properties)
      throws NoSuchNamespaceException {
    if (isOurs(properties)) {
      return NamedTables.stageReplace(
          ident, IndexTablesCatalog.schema(columns), IndexTablesCatalog.columns(partitioning), properties);
    }
    if (NamedTable.find(ident).isPresent()) {
      throw Failures.analysis(
          ident + " is a table of indextables, which a table of another format cannot replace; DROP TABLE it first");
    }
    super.dropTable(ident);
    try {
      return foreign(ident, columns, partitioning, properties);
    } catch (TableAlreadyExistsException e) {
      throw Failures.unchecked(e);
    }
  }

  @Override
  public Table alterTable(Identifier ident, TableChange... changes) throws NoSuchTableException {
    Optional<NamedTable> named = NamedTable.find(ident);
    if (named.isEmpty()) {
      return super.alterTable(ident, changes);
    }
    new IndexTablesCatalog().alterTable(Identifier.of(new String[0], named.get().location()), changes);
    return loadTable(ident);
  }

  @Override
  public boolean dropTable(Identifier ident) {
    Optional<NamedTable> named = NamedTable.find(ident);
    return named.isPresent() ? NamedTables.drop(ident, named.get(), false) : super.dropTable(ident);
  }

  @Override
  public boolean purgeTable(Identifier ident) {
    Optional<NamedTable> named = NamedTable.find(ident);
    return named.isPresent() ? NamedTables.drop(ident, named.get(), true) : super.purgeTable(ident);
  }

  private static boolean isOurs(Map<String, String> properties) {
    String provider = properties.get(PROP_PROVIDER);
    return IndexTablesProvider.isNamed(provider == null ? SQLConf.get().defaultDataSourceName() : provider);
  }

  private StagedTable foreign(Identifier ident, Column[] columns, Transform[] partitioning, Map<String, String> properties)
      throws TableAlreadyExistsException, NoSuchNamespaceException {
    Table table = super.createTable(ident, columns, partitioning, properties);
    return NamedStage.ofForeign(this, ident, table == null ? delegated(ident) : table);
  }
}
