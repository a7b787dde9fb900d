package io.indextables.spark;

import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.connector.catalog.MetadataColumn;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.expressions.Expressions;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** A table as it was when it was loaded: every scan of it reads that one version. */
class IndexTablesTable implements SearchedTable {
  protected final TableRef ref;
  protected final Description description;

  IndexTablesTable(TableRef ref, Description description) {
    this.ref = ref;
    this.description = description;
  }

  @Override
  public SearchedTable copy() {
    return new IndexTablesTable(ref, description);
  }

  @Override
  public TableRef ref() {
    return ref;
  }

  @Override
  public Description description() {
    return description;
  }

  @Override
  public String name() {
    return ref.name();
  }

  @Override
  @SuppressWarnings("deprecation") // schema() is what every supported Spark still asks for
  public StructType schema() {
    return description.schema();
  }

  @Override
  public Transform[] partitioning() {
    return description.partitionColumns().stream().map(Expressions::identity).toArray(Transform[]::new);
  }

  @Override
  public Map<String, String> properties() {
    return description.properties(ref);
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
    TableRef read = ref.withOptions(options.asCaseSensitiveMap());
    return new IndexTablesScanBuilder(read, read.atVersion(description.version()), description.schema());
  }
}
