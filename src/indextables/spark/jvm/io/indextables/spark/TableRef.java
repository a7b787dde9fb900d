package io.indextables.spark;

import java.net.URI;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Predicate;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.catalog.CatalogUtils;
import org.apache.spark.sql.catalyst.util.DateTimeUtils;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/**
 * A table, its version and its settings. Settings are the session's {@code spark.indextables.*} and the options of this read
 * or write, with their keys as the user wrote them. Python combines them: it knows the keys, options take precedence, and
 * an unknown key is an error in an option but only a warning in the session.
 *
 * @param version the version, or null for the newest
 * @param timestamp microseconds since 1970, or null; only if there is no version
 * @param columns the other options, in lower case, of a dataset of column groups; null for a search table
 */
record TableRef(
    String path,
    Map<String, String> session,
    Map<String, String> options,
    Long version,
    Long timestamp,
    Map<String, String> columns) {
  /** Marks the options as those of a dataset of column groups. */
  static final String COLUMNS = "__columns";

  private static final String PREFIX = "spark.indextables.";
  private static final String LEGACY_PREFIX = "spark.tantivy4spark.";
  private static final String VERSION = "versionasof";
  private static final String TIMESTAMP = "timestampasof";
  /** Options that are not settings: Spark's own, and those that name what to read. */
  private static final Set<String> SPARK_OPTIONS =
      Set.of("path", "paths", VERSION, TIMESTAMP, "partitionoverwritemode", "replacewhere", "serialization.format");

  static TableRef of(String path) {
    return new TableRef(path, sessionSettings(), Map.of(), null, null, null);
  }

  /** Reads the options of a DataFrameReader or DataFrameWriter, which include the path. */
  static TableRef of(Map<String, String> options) {
    Map<String, String> folded = new HashMap<>();
    options.forEach((key, value) -> folded.put(key.toLowerCase(Locale.ROOT), value));
    if (folded.get("path") == null) {
      throw Failures.analysis(
          "a table of indextables is a directory, and none is named. Give load(...) or save(...) its path; in SQL, "
              + "CREATE TABLE indextables.`/data/logs` (...) makes a table there, and CREATE TABLE logs USING indextables "
              + "LOCATION '/data/logs' gives one that exists a name");
    }
    if (folded.get(VERSION) != null && folded.get(TIMESTAMP) != null) {
      throw Failures.analysis("versionAsOf and timestampAsOf cannot be given together");
    }
    TableRef table =
        new TableRef(
            folded.get("path"),
            sessionSettings(),
            Map.of(),
            version(folded.get(VERSION)),
            timestamp(folded.get(TIMESTAMP)),
            folded.containsKey(COLUMNS) ? ofColumns(folded) : null);
    // For a table of the session catalog, the options are all the properties of the table.
    boolean isOfCatalog = isSamePath(folded.get(TableCatalog.PROP_LOCATION), table.path());
    return isOfCatalog ? table.withProperties(options) : table.withOptions(options);
  }

  /** Returns the name of the table in plans and messages. */
  String name() {
    return format() + ".`" + path + "`";
  }

  String format() {
    return columns == null ? IndexTablesCatalog.NAME : ColumnsProvider.NAME;
  }

  /** Returns how the table can be read. A dataset of column groups is no stream. */
  Set<TableCapability> readCapabilities() {
    return columns == null
        ? EnumSet.of(TableCapability.BATCH_READ, TableCapability.MICRO_BATCH_READ)
        : EnumSet.of(TableCapability.BATCH_READ);
  }

  /** Adds the options of a read or write. Python refuses those that are not settings. */
  TableRef withOptions(Map<String, String> more) {
    return with(more, columns == null ? TableRef::isMeantAsSetting : TableRef::isSetting);
  }

  /** Adds those table properties that are settings; a table may have others. */
  TableRef withProperties(Map<String, String> properties) {
    Map<String, String> given = new TreeMap<>();
    properties.forEach(
        (key, value) -> {
          if (key.startsWith(TableCatalog.OPTION_PREFIX)) {
            given.put(key.substring(TableCatalog.OPTION_PREFIX.length()), value);
          }
        });
    return with(properties, TableRef::isSetting).withOptions(given);
  }

  private TableRef with(Map<String, String> more, Predicate<String> isTaken) {
    Map<String, String> merged = new TreeMap<>(options);
    more.forEach(
        (key, value) -> {
          if (isTaken.test(key)) {
            merged.keySet().removeIf(key::equalsIgnoreCase);
            merged.put(key, value);
          }
        });
    return new TableRef(path, session, merged, version, timestamp, columns);
  }

  /** Returns whether two paths name the same directory. Spark adds a scheme to a local path. */
  static boolean isSamePath(String one, String other) {
    return one != null && withoutScheme(one).equals(withoutScheme(other));
  }

  /** Returns whether a path names a directory or something in it. */
  static boolean isInside(String path, String directory) {
    return (withoutScheme(path) + "/").startsWith(withoutScheme(directory) + "/");
  }

  private static String withoutScheme(String path) {
    URI uri = CatalogUtils.stringToURI(path);
    boolean isLocal = uri.getScheme() == null || uri.getScheme().equals("file");
    return (isLocal ? uri.getPath() : uri.toString()).replaceAll("/+$", "");
  }

  TableRef atVersion(long pinned) {
    return new TableRef(path, session, options, pinned, null, columns);
  }

  TableRef atVersion(String text) {
    return atVersion(version(text));
  }

  TableRef atTimestamp(long micros) {
    return new TableRef(path, session, options, null, micros, columns);
  }

  private static Map<String, String> ofColumns(Map<String, String> folded) {
    Map<String, String> own = new TreeMap<>(folded);
    own.keySet().removeIf(key -> key.startsWith("__") || key.equals("path") || key.equals(VERSION) || isSetting(key));
    return own;
  }

  private static Long version(String text) {
    if (text == null) {
      return null;
    }
    try {
      return Long.valueOf(text.strip());
    } catch (NumberFormatException e) {
      throw Failures.analysis("'" + text + "' is not a version of a table; versions are whole numbers, 0 the first");
    }
  }

  private static Long timestamp(String text) {
    if (text == null) {
      return null;
    }
    Option<Object> micros =
        DateTimeUtils.stringToTimestamp(
            UTF8String.fromString(text), DateTimeUtils.getZoneId(SQLConf.get().sessionLocalTimeZone()));
    if (micros.isEmpty()) {
      throw Failures.analysis("timestampAsOf '" + text + "' is not a timestamp, such as 2024-05-01 12:00:00");
    }
    return (Long) micros.get();
  }

  static Map<String, String> sessionSettings() {
    Map<String, String> settings = new TreeMap<>();
    CollectionConverters.asJava(SparkSession.active().conf().getAll())
        .forEach(
            (key, value) -> {
              if (isSetting(key)) {
                settings.put(key, value);
              }
            });
    return settings;
  }

  private static boolean isMeantAsSetting(String key) {
    return !key.startsWith("__") && !SPARK_OPTIONS.contains(key.toLowerCase(Locale.ROOT));
  }

  private static boolean isSetting(String key) {
    String folded = key.toLowerCase(Locale.ROOT);
    return folded.startsWith(PREFIX) || folded.startsWith(LEGACY_PREFIX);
  }
}
