package io.indextables.spark;

import org.apache.spark.sql.connector.catalog.SupportsDeleteV2;
import org.apache.spark.sql.connector.catalog.SupportsMetadataColumns;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.SupportsRowLevelOperations;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.write.RowLevelOperationBuilder;
import org.apache.spark.sql.connector.write.RowLevelOperationInfo;

/** A table with an index, which has the columns that a search computes, and whose rows can be changed. */
interface SearchedTable extends SupportsRead, SupportsMetadataColumns, SupportsDeleteV2, SupportsRowLevelOperations {
  /** Returns a copy. Tables are equal only to themselves, so the copy is equal to no other table. */
  SearchedTable copy();

  /** Returns the table and its settings. */
  TableRef ref();

  /** Returns the schema and the version that scans of the table read. */
  Description description();

  @Override
  default boolean canDeleteWhere(Predicate[] predicates) {
    return RowDeletes.canDelete(ref(), predicates);
  }

  @Override
  default void deleteWhere(Predicate[] predicates) {
    RowDeletes.delete(ref(), predicates);
  }

  /** Spark asks this also for a DELETE that {@link #deleteWhere} turns out to do. */
  @Override
  default RowLevelOperationBuilder newRowLevelOperationBuilder(RowLevelOperationInfo info) {
    return () -> RowChanges.of(this, info);
  }
}
