package io.indextables.spark;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.CatalogTableType;
import org.apache.spark.sql.catalyst.catalog.CatalogUtils;
import org.apache.spark.sql.catalyst.catalog.SessionCatalog;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.Table;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/**
 * A table of the session's catalog that was created {@code USING indextables}: a name for a path. The catalog has the name,
 * the path and the properties; the columns are those of the table's log, whatever the catalog has recorded.
 */
record NamedTable(TableIdentifier id, CatalogTable entry) {
  static final String SESSION_CATALOG = "spark_catalog";
  /** Settings that made the table what it is. Its log has them; the catalog may have outdated ones. */
  private static final String INDEXING = ".indexing.";

  /** Returns the table of this name; empty if there is none, or it is of another format. */
  static Optional<NamedTable> find(Identifier ident) {
    return ident.namespace().length == 1 ? find(identifier(ident)) : Optional.empty();
  }

  /** Returns the table that a statement names by these parts; empty if there is none, or it is of another format. */
  static Optional<NamedTable> find(List<String> parts) {
    return identifier(parts).flatMap(NamedTable::find);
  }

  private static Optional<NamedTable> find(TableIdentifier id) {
    SessionCatalog catalog = sessionCatalog();
    if (!catalog.tableExists(id)) {
      return Optional.empty();
    }
    CatalogTable entry;
    try {
      entry = catalog.getTableMetadata(id);
    } catch (Exception e) {
      throw Failures.unchecked(e);
    }
    return IndexTablesProvider.isNamed(provider(entry)) ? Optional.of(new NamedTable(id, entry)) : Optional.empty();
  }

  /** Returns the location of the table. AnalysisException if no table has the name, or it is of another format. */
  static String location(List<String> parts) {
    String name = String.join(".", parts);
    TableIdentifier id =
        identifier(parts)
            .orElseThrow(() -> Failures.analysis("only tables of the session's catalog can be named; " + name + " is in another"));
    return find(id)
        .orElseThrow(
            () ->
                sessionCatalog().tableExists(id)
                    ? Failures.analysis(name + " is a table of another format, not of " + PythonBridge.NAME)
                    : Failures.noSuchTable("there is no table " + name + " in the session's catalog; a path goes in quotes"))
        .location();
  }

  static SessionCatalog sessionCatalog() {
    return ((org.apache.spark.sql.classic.SparkSession) SparkSession.active()).sessionState().catalog();
  }

  static TableIdentifier identifier(Identifier ident) {
    return TableIdentifier.apply(ident.name(), Option.apply(ident.namespace()[0]));
  }

  /** Returns the identifier of a name; empty if the name is in a catalog that is not the session's or ours. */
  private static Optional<TableIdentifier> identifier(List<String> parts) {
    boolean isQualified = parts.size() > 1 && isOfSession(parts.get(0));
    if (!isQualified && !isOfSession(SparkSession.active().catalog().currentCatalog())) {
      return Optional.empty();
    }
    List<String> local = isQualified ? parts.subList(1, parts.size()) : parts;
    return switch (local.size()) {
      case 1 -> Optional.of(TableIdentifier.apply(local.get(0)));
      case 2 -> Optional.of(TableIdentifier.apply(local.get(1), Option.apply(local.get(0))));
      default -> Optional.empty();
    };
  }

  private static boolean isOfSession(String catalog) {
    return catalog.equalsIgnoreCase(SESSION_CATALOG) || catalog.equalsIgnoreCase(IndexTablesCatalog.NAME);
  }

  private static String provider(CatalogTable entry) {
    return entry.provider().getOrElse(() -> "unknown");
  }

  String location() {
    return CatalogUtils.URIToString(entry.location());
  }

  boolean isManaged() {
    return entry.tableType().equals(CatalogTableType.MANAGED());
  }

  /** Returns the name in messages and in SHOW CREATE TABLE. */
  String name() {
    List<String> parts = new ArrayList<>(List.of(SESSION_CATALOG));
    parts.add(entry.identifier().database().getOrElse(() -> "default"));
    parts.add(entry.identifier().table());
    return String.join(".", parts.stream().map(NamedTable::quoted).toList());
  }

  private static String quoted(String part) {
    return part.matches("[a-zA-Z_][a-zA-Z0-9_]*") ? part : "`" + part.replace("`", "``") + "`";
  }

  /** Returns the path with the settings among the options and properties that the catalog has. */
  TableRef ref() {
    return TableRef.of(location())
        .withProperties(settings(CollectionConverters.asJava(entry.properties())))
        .withOptions(settings(CollectionConverters.asJava(entry.storage().properties())));
  }

  private static Map<String, String> settings(Map<String, String> properties) {
    Map<String, String> settings = new TreeMap<>(properties);
    settings.keySet().removeIf(key -> key.toLowerCase(Locale.ROOT).contains(INDEXING));
    return settings;
  }

  /** Returns the table at its newest version, or as of a version or time. AnalysisException if its files are gone. */
  Table load(TableRef ref) {
    PythonBridge.Answer answer = PythonBridge.ask(Description.request(ref));
    if (answer.isNoTable()) {
      throw Failures.noSuchTable(
          name() + " names the table at " + location() + ", and there is none any more. Bring its directory back, or "
              + "remove the name with DROP TABLE " + name());
    }
    JsonNode description = answer.get();
    return new CatalogTableView(this, ref, Description.from(description));
  }

  /** Returns the properties that the user has given the name, without settings and Spark's own. */
  Map<String, String> userProperties() {
    Map<String, String> properties = new TreeMap<>(CollectionConverters.asJava(entry.properties()));
    properties.keySet().removeIf(NamedTables::isOfSpark);
    entry.comment().foreach(comment -> properties.put("comment", comment));
    return properties;
  }
}
