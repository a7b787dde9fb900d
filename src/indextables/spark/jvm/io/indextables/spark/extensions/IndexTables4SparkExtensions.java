package io.indextables.spark.extensions;

import io.indextables.spark.IndexTablesExtensions;

/** The other name of the extensions in IndexTables for Scala. */
public final class IndexTables4SparkExtensions extends IndexTablesExtensions {}
