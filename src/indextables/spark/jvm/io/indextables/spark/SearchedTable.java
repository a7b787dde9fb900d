package io.indextables.spark;

import org.apache.spark.sql.connector.catalog.SupportsMetadataColumns;
import org.apache.spark.sql.connector.catalog.SupportsRead;

/** A table with an index, which has the columns that a search computes. */
interface SearchedTable extends SupportsRead, SupportsMetadataColumns {
  /** Returns a copy. Tables are equal only to themselves, so the copy is equal to no other table. */
  SearchedTable copy();
}
