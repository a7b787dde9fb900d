package io.indextables.spark;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.List;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/** What a table was at one version. */
record Description(long version, StructType schema, List<String> partitionColumns) {
  static Description of(TableRef table) {
    return from(PythonDoor.ask(request(table)).get());
  }

  static Request request(TableRef table) {
    return Request.of("describe", table);
  }

  static Description from(JsonNode json) {
    return new Description(
        json.get("version").asLong(), schema(json), Json.strings(json.get("partition_columns")));
  }

  private static StructType schema(JsonNode json) {
    return (StructType) DataType.fromJson(json.get("schema").asText());
  }
}
