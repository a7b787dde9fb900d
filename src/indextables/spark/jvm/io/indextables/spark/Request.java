package io.indextables.spark;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Map;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** A request to Python: a command and its arguments in a single option, since Spark folds the case of option keys. */
final class Request {
  private static final String OPTION = "__request";

  private final ObjectNode json;

  private Request(ObjectNode json) {
    this.json = json;
  }

  static Request of(String command, TableRef table) {
    ObjectNode json = of(command, table.session()).json.put("path", table.path());
    ObjectNode options = json.putObject("options");
    table.options().forEach(options::put);
    if (table.version() != null) {
      json.put("version", table.version());
    }
    if (table.timestamp() != null) {
      json.put("timestamp", table.timestamp());
    }
    if (table.columns() != null) {
      ObjectNode columns = json.putObject("column_groups");
      table.columns().forEach(columns::put);
    }
    return new Request(json);
  }

  /** A request about no table, or about a table that the arguments name. */
  static Request of(String command, Map<String, String> session) {
    ObjectNode json =
        Json.object().put("command", command).put("time_zone", SQLConf.get().sessionLocalTimeZone());
    ObjectNode settings = json.putObject("session");
    session.forEach(settings::put);
    return new Request(json);
  }

  Request with(String key, JsonNode value) {
    ObjectNode copy = json.deepCopy();
    copy.set(key, value);
    return new Request(copy);
  }

  Request with(String key, String value) {
    ObjectNode copy = json.deepCopy();
    copy.put(key, value);
    return new Request(copy);
  }

  Request with(String key, long value) {
    ObjectNode copy = json.deepCopy();
    copy.put(key, value);
    return new Request(copy);
  }

  Request with(String key, boolean value) {
    ObjectNode copy = json.deepCopy();
    copy.put(key, value);
    return new Request(copy);
  }

  CaseInsensitiveStringMap asOptions() {
    return new CaseInsensitiveStringMap(Map.of(OPTION, json.toString()));
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Request that && that.json.equals(json);
  }

  @Override
  public int hashCode() {
    return json.hashCode();
  }
}
