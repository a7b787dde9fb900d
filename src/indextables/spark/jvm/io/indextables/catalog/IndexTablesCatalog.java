package io.indextables.catalog;

/** The name that jobs of IndexTables for Scala set as {@code spark.sql.catalog.<name>}. */
public final class IndexTablesCatalog extends io.indextables.spark.catalog.IndexTables4SparkCatalog {}
