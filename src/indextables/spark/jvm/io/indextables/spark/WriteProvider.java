package io.indextables.spark;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * The source that {@link IndexTablesProvider} writes a DataFrame to, by its class name. Spark gives it appends and
 * overwrites only; the mode of the user is in an option. Not for users.
 */
public final class WriteProvider implements TableProvider {
  static final String MODE = "__mode";
  private static final String PARTITION_COLUMNS = "__partition_columns"; // where Spark passes those of partitionBy

  @Override
  public StructType inferSchema(CaseInsensitiveStringMap options) {
    throw new UnsupportedOperationException("a write brings its own schema");
  }

  @Override
  public boolean supportsExternalMetadata() {
    return true;
  }

  @Override
  public Table getTable(StructType rows, Transform[] partitioning, Map<String, String> options) {
    TableRef ref = TableRef.of(options);
    WriteMode mode = WriteMode.valueOf(options.get(MODE).toUpperCase(Locale.ROOT));
    List<String> partitionBy =
        options.containsKey(PARTITION_COLUMNS) ? Json.strings(Json.parse(options.get(PARTITION_COLUMNS))) : null;
    Replacement replacement = Replacement.of(new CaseInsensitiveStringMap(options), mode);
    if (mode == WriteMode.APPEND || replacement.isPart()) {
      PythonBridge.Answer existing = PythonBridge.ask(Description.request(ref));
      if (!existing.isNoTable()) {
        JsonNode table = existing.get();
        // Spark then conforms the rows to the table: columns by name, numbers widened, or an error of its own.
        return WriteTarget.of(ref, mode, Description.from(table).schema(), partitionBy, replacement);
      }
    }
    return WriteTarget.ofAnySchema(ref, mode, rows, partitionBy, replacement);
  }
}
