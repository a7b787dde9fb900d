package io.indextables.spark;

import java.util.List;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.CatalogUtils;
import org.apache.spark.sql.catalyst.catalog.SessionCatalog;
import scala.Option;

/** A table of the session's catalog that was created {@code USING indextables}: a name for a path. */
final class NamedTable {
  private static final String SESSION_CATALOG = "spark_catalog";

  private NamedTable() {}

  /** Returns the location of the table. AnalysisException if no table has the name, or it is of another format. */
  static String location(List<String> parts) {
    String name = String.join(".", parts);
    SessionCatalog catalog =
        ((org.apache.spark.sql.classic.SparkSession) SparkSession.active()).sessionState().catalog();
    TableIdentifier identifier = identifier(parts, name);
    if (!catalog.tableExists(identifier)) {
      throw Failures.noSuchTable("there is no table " + name + " in the session's catalog; a path goes in quotes");
    }
    CatalogTable table;
    try {
      table = catalog.getTableMetadata(identifier);
    } catch (Exception e) {
      throw Failures.unchecked(e);
    }
    String provider = table.provider().getOrElse(() -> "unknown");
    if (!IndexTablesProvider.isNamed(provider)) {
      throw Failures.analysis(name + " is a table of format " + provider + ", not " + PythonBridge.NAME);
    }
    return CatalogUtils.URIToString(table.location());
  }

  private static TableIdentifier identifier(List<String> parts, String name) {
    boolean qualified = parts.get(0).equalsIgnoreCase(SESSION_CATALOG) && parts.size() > 1;
    List<String> local = qualified ? parts.subList(1, parts.size()) : parts;
    return switch (local.size()) {
      case 1 -> TableIdentifier.apply(local.get(0));
      case 2 -> TableIdentifier.apply(local.get(1), Option.apply(local.get(0)));
      default -> throw Failures.analysis("only tables of the session's catalog can be named; " + name + " is in another");
    };
  }
}
