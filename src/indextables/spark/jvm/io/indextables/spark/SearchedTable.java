package io.indextables.spark;

import org.apache.spark.sql.connector.catalog.SupportsMetadataColumns;
import org.apache.spark.sql.connector.catalog.SupportsRead;

/** A table with an index, and so with the columns that a search computes. */
interface SearchedTable extends SupportsRead, SupportsMetadataColumns {
  /** The same table as another object. Tables are equal only to themselves. */
  SearchedTable copy();
}
