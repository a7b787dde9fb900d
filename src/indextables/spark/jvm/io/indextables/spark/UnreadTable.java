package io.indextables.spark;

import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.connector.catalog.MetadataColumn;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * A table that has been given a schema and not been read: the target of a {@code save}, which need not exist yet, or a
 * table of the session catalog, which is read when it is scanned.
 */
final class UnreadTable implements SearchedTable {
  private final TableRef ref;
  private final StructType schema;

  UnreadTable(TableRef ref, StructType schema) {
    this.ref = ref;
    this.schema = schema;
  }

  @Override
  public SearchedTable copy() {
    return new UnreadTable(ref, schema);
  }

  @Override
  public TableRef ref() {
    return ref;
  }

  @Override
  public String name() {
    return ref.name();
  }

  @Override
  @SuppressWarnings("deprecation")
  public StructType schema() {
    return schema;
  }

  @Override
  public Map<String, String> properties() {
    PythonBridge.Answer answer = PythonBridge.ask(Description.request(ref));
    return answer.isNoTable() ? Description.properties(ref, List.of()) : Description.from(answer.get()).properties(ref);
  }

  @Override
  public MetadataColumn[] metadataColumns() {
    return MetadataColumns.of(ref);
  }

  @Override
  public Set<TableCapability> capabilities() {
    return ref.readCapabilities();
  }

  @Override
  public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
    return new IndexTablesTable(ref, description()).newScanBuilder(options);
  }

  @Override
  public Description description() {
    Description description = Description.of(ref);
    if (!description.schema().asNullable().equals(schema.asNullable())) {
      throw Failures.analysis(
          "the columns of the table at " + ref.path() + " have changed since the catalog took them down; it has "
              + description.schema().toDDL());
    }
    return description;
  }
}
