package io.indextables.spark.core;

import io.indextables.spark.IndexTablesProvider;

/** The name by which most jobs of IndexTables for Scala name the format. */
public final class IndexTables4SparkTableProvider extends IndexTablesProvider {}
