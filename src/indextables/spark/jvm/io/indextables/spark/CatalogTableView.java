package io.indextables.spark;

import java.util.Map;
import org.apache.spark.sql.connector.catalog.TableCatalog;

/** A table that was found by its name. It has the properties of the name in addition to those of the table. */
final class CatalogTableView extends WritableTable {
  private final NamedTable named;

  CatalogTableView(NamedTable named, TableRef ref, Description description) {
    super(ref, description);
    this.named = named;
  }

  @Override
  public SearchedTable copy() {
    return new CatalogTableView(named, ref, description);
  }

  @Override
  public String name() {
    return named.name();
  }

  @Override
  public Map<String, String> properties() {
    Map<String, String> properties = super.properties();
    properties.putAll(named.userProperties());
    if (named.isManaged()) {
      properties.remove(TableCatalog.PROP_EXTERNAL);
      properties.put(TableCatalog.PROP_IS_MANAGED_LOCATION, "true");
    }
    return properties;
  }
}
