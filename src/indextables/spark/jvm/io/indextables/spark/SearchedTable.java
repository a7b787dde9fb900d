package io.indextables.spark;

import org.apache.spark.sql.connector.catalog.SupportsDeleteV2;
import org.apache.spark.sql.connector.catalog.SupportsMetadataColumns;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.expressions.filter.Predicate;

/** A table with an index, which has the columns that a search computes, and whose rows can be deleted. */
interface SearchedTable extends SupportsRead, SupportsMetadataColumns, SupportsDeleteV2 {
  /** Returns a copy. Tables are equal only to themselves, so the copy is equal to no other table. */
  SearchedTable copy();

  /** Returns the table and its settings. */
  TableRef ref();

  @Override
  default boolean canDeleteWhere(Predicate[] predicates) {
    return RowDeletes.canDelete(ref(), predicates);
  }

  @Override
  default void deleteWhere(Predicate[] predicates) {
    RowDeletes.delete(ref(), predicates);
  }
}
