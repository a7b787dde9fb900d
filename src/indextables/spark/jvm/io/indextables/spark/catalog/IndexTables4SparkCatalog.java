package io.indextables.spark.catalog;

import io.indextables.spark.IndexTablesCatalog;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.connector.catalog.Identifier;

/**
 * The catalog of IndexTables for Scala by its class name. There, a name in it is that of a Delta or Iceberg table, and means
 * the companion index of that table. Here a name in it is a path.
 */
public class IndexTables4SparkCatalog extends IndexTablesCatalog {
  @Override
  protected NoSuchTableException inNamespace(Identifier ident) {
    throw companionNotSupported(name() + "." + String.join(".", ident.namespace()) + "." + ident.name());
  }
}
