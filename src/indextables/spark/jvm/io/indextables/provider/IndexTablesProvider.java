package io.indextables.provider;

/** The other class name of the format in IndexTables for Scala. */
public final class IndexTablesProvider extends io.indextables.spark.IndexTablesProvider {}
