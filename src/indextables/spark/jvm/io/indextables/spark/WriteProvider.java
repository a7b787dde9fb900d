package io.indextables.spark;

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
    // Spark fits the rows to an existing table: columns by name, numbers cast, or an error of its own.
    if (mode == WriteMode.APPEND && ref.columns() == null) {
      PythonBridge.Answer answer = PythonBridge.ask(AppendColumns.request(ref, rows));
      if (!answer.isNoTable()) {
        return WriteTarget.of(ref, mode, Description.appendSchema(answer.get()), partitionBy, replacement);
      }
    } else if (mode == WriteMode.APPEND || replacement.isPart()) {
      PythonBridge.Answer existing = PythonBridge.ask(Description.request(ref));
      if (!existing.isNoTable()) {
        return WriteTarget.of(ref, mode, Description.from(existing.get()).writeSchema(), partitionBy, replacement);
      }
    }
    return WriteTarget.ofAnySchema(ref, mode, rows, partitionBy, replacement);
  }
}
