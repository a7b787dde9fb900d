package io.indextables.spark;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.catalog.CatalogUtils;
import org.apache.spark.sql.catalyst.catalog.ExternalCatalog;
import org.apache.spark.sql.catalyst.catalog.SessionCatalog;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The directories of dropped managed tables, {@code _indextables_trash} in the directory of each database. A table's directory
 * in it is called by the table's name, the time of the drop in milliseconds, and a random part.
 */
final class Trash {
  private static final String DIRECTORY = "_indextables_trash";
  private static final StructType COLUMNS =
      new StructType()
          .add("path", DataTypes.StringType)
          .add("dropped_at", DataTypes.TimestampType)
          .add("size_bytes", DataTypes.LongType)
          .add("deleted", DataTypes.BooleanType);

  private Trash() {}

  /** Moves a table's directory to the trash, or deletes it. A directory that is gone already is left alone. */
  static void remove(String location, boolean purge) {
    Path directory = new Path(location);
    try {
      FileSystem files = fileSystem(directory);
      if (!files.exists(directory)) {
        return;
      }
      if (purge) {
        delete(files, directory);
        return;
      }
      Path trash = new Path(directory.getParent(), DIRECTORY);
      files.mkdirs(trash);
      String random = UUID.randomUUID().toString().substring(0, 8);
      Path target = new Path(trash, directory.getName() + "-" + System.currentTimeMillis() + "-" + random);
      if (!files.rename(directory, target)) {
        throw Failures.analysis(
            "cannot move " + directory + " to the trash, " + target + "; nothing was dropped. DROP TABLE ... PURGE deletes it");
      }
    } catch (IOException e) {
      throw new UncheckedIOException("cannot remove the directory of a dropped table, " + location, e);
    }
  }

  /**
   * Deletes what was dropped at least some hours ago, in all databases, and returns a row for each table in the trash. A
   * directory that a name of the catalog points into is in use, and stays.
   */
  static CommandRows empty(JsonNode command) {
    long before = System.currentTimeMillis() - command.get("hours").asLong() * 3_600_000L;
    boolean isDryRun = command.get("dry_run").asBoolean();
    List<String> lines = new ArrayList<>();
    List<String> used = locations();
    try {
      for (Path trash : directories()) {
        FileSystem files = fileSystem(trash);
        FileStatus[] tables = files.exists(trash) ? files.listStatus(trash) : new FileStatus[0];
        for (FileStatus table : tables) {
          Long dropped = droppedAt(table.getPath().getName());
          if (dropped == null) {
            continue; // no table that was dropped: left alone
          }
          long size = files.getContentSummary(table.getPath()).getLength();
          String directory = table.getPath().toString();
          boolean isUsed = used.stream().anyMatch(location -> TableRef.isInside(location, directory));
          boolean isDeleted = dropped <= before && !isUsed && !isDryRun;
          if (isDeleted) {
            delete(files, table.getPath());
          }
          ArrayNode row = Json.array();
          row.add(directory).add(dropped * 1000).add(size).add(isDeleted);
          lines.add(row.toString());
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException("cannot empty the trash", e);
    }
    return CommandRows.of(
        Json.object().put("schema", COLUMNS.json()).put("rows", String.join("\n", lines)));
  }

  private static Set<Path> directories() {
    SessionCatalog catalog = NamedTable.sessionCatalog();
    Set<Path> directories = new LinkedHashSet<>();
    for (String database : CollectionConverters.asJava(catalog.listDatabases())) {
      directories.add(new Path(new Path(catalog.getDatabaseMetadata(database).locationUri()), DIRECTORY));
    }
    return directories;
  }

  /** Returns the locations of all tables of the session's catalog, of any format. */
  private static List<String> locations() {
    ExternalCatalog catalog = NamedTable.sessionCatalog().externalCatalog();
    List<String> locations = new ArrayList<>();
    for (String database : CollectionConverters.asJava(catalog.listDatabases())) {
      CollectionConverters.asJava(catalog.getTablesByName(database, catalog.listTables(database)))
          .forEach(table -> table.storage().locationUri().foreach(uri -> locations.add(CatalogUtils.URIToString(uri))));
    }
    return locations;
  }

  private static Long droppedAt(String name) {
    String[] parts = name.split("-");
    try {
      return parts.length < 3 ? null : Long.valueOf(parts[parts.length - 2]);
    } catch (NumberFormatException e) {
      return null;
    }
  }

  private static void delete(FileSystem files, Path directory) throws IOException {
    if (!files.delete(directory, true) && files.exists(directory)) {
      throw new IOException("cannot delete " + directory);
    }
  }

  private static FileSystem fileSystem(Path path) throws IOException {
    return path.getFileSystem(
        ((org.apache.spark.sql.classic.SparkSession) SparkSession.active()).sessionState().newHadoopConf());
  }
}
