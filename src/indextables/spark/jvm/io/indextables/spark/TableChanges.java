package io.indextables.spark;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Arrays;
import org.apache.spark.sql.connector.catalog.TableChange;

/** The changes of an ALTER TABLE as JSON. Python knows which of them a table can make. */
final class TableChanges {
  private TableChanges() {}

  static ArrayNode json(TableChange[] changes) {
    ArrayNode array = Json.array();
    Arrays.stream(changes).map(TableChanges::json).forEach(array::add);
    return array;
  }

  private static ObjectNode json(TableChange change) {
    if (change instanceof TableChange.SetProperty set) {
      return of("set").put("name", set.property()).put("value", set.value());
    }
    if (change instanceof TableChange.RemoveProperty remove) {
      return of("unset").put("name", remove.property());
    }
    if (change instanceof TableChange.AddColumn add) {
      ObjectNode json = column("add", add).put("type", add.dataType().json()).put("comment", add.comment());
      json.put("nullable", add.isNullable());
      json.put("position", add.position() == null ? null : add.position().toString());
      return json.put("default", add.defaultValue() == null ? null : add.defaultValue().getSql());
    }
    if (change instanceof TableChange.RenameColumn rename) {
      return column("rename", rename).put("name", rename.newName());
    }
    if (change instanceof TableChange.DeleteColumn delete) {
      return column("drop", delete).put("if_exists", delete.ifExists());
    }
    if (change instanceof TableChange.UpdateColumnType update) {
      return column("widen", update).put("type", update.newDataType().json());
    }
    return of("other").put("name", change.getClass().getSimpleName());
  }

  private static ObjectNode of(String kind) {
    return Json.object().put("change", kind);
  }

  private static ObjectNode column(String kind, TableChange.ColumnChange change) {
    ObjectNode json = of(kind);
    json.set("column", Json.strings(Arrays.asList(change.fieldNames())));
    return json;
  }
}
