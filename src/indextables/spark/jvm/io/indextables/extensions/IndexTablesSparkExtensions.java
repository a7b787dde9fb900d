package io.indextables.extensions;

import io.indextables.spark.IndexTablesExtensions;

/** The name that jobs of IndexTables for Scala set as {@code spark.sql.extensions}. */
public final class IndexTablesSparkExtensions extends IndexTablesExtensions {}
