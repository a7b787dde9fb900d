package io.indextables.spark;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * The schema and layout of a table at one version.
 *
 * @param defaults the defaults of columns, as expressions in SQL
 * @param isFeed whether it describes the changes of a table, up to the version
 */
record Description(
    long version,
    StructType schema,
    List<String> partitionColumns,
    List<String> textColumns,
    Map<String, String> tableProperties,
    Map<String, String> defaults,
    boolean isFeed) {
  private static final String OPTION = "option."; // the properties of a table that SHOW CREATE TABLE shows as options
  private static final String TEXT = "spark.indextables.indexing.typemap.";

  static Description of(TableRef table) {
    return from(PythonBridge.ask(request(table)).get());
  }

  static Request request(TableRef table) {
    return Request.of("describe", table);
  }

  static Description from(JsonNode json) {
    return new Description(
        json.get("version").asLong(),
        schema(json),
        Json.strings(json.get("partition_columns")),
        Json.strings(json.path("text_columns")),
        texts(json.path("properties")),
        texts(json.path("defaults")),
        json.path("feed").asBoolean());
  }

  private static Map<String, String> texts(JsonNode given) {
    Map<String, String> texts = new TreeMap<>();
    given.fieldNames().forEachRemaining(key -> texts.put(key, given.get(key).asText()));
    return texts;
  }

  /** Returns the columns of rows to write, with the values that Spark gives those that a statement leaves out. */
  StructType writeSchema() {
    return withDefaults(schema, defaults);
  }

  /** Returns the columns that Spark fits the rows of an append to. The answer is of the command {@code append_schema}. */
  static StructType appendSchema(JsonNode answer) {
    return withDefaults(schema(answer), texts(answer.path("defaults")));
  }

  private static StructType withDefaults(StructType columns, Map<String, String> defaults) {
    StructType all = new StructType();
    for (StructField field : columns.fields()) {
      String value = defaults.get(field.name());
      all = all.add(value == null ? field : field.withCurrentDefaultValue(value));
    }
    return all;
  }

  /** Returns what DESCRIBE EXTENDED and SHOW CREATE TABLE show of a table in addition to its columns. */
  Map<String, String> properties(TableRef table) {
    Map<String, String> properties = properties(table, textColumns);
    properties.putAll(tableProperties);
    return properties;
  }

  static Map<String, String> properties(TableRef table, List<String> textColumns) {
    Map<String, String> properties = new TreeMap<>();
    properties.put(TableCatalog.PROP_PROVIDER, table.format());
    properties.put(TableCatalog.PROP_LOCATION, table.path());
    properties.put(TableCatalog.PROP_EXTERNAL, "true"); // DROP TABLE removes the name and keeps the files
    textColumns.forEach(column -> properties.put(OPTION + TEXT + column, "text"));
    return properties;
  }

  private static StructType schema(JsonNode json) {
    return (StructType) DataType.fromJson(json.get("schema").asText());
  }
}
