package io.indextables.spark;

import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** Spark's description of a write, with a request in place of the options. */
record WriteInfo(String queryId, StructType schema, CaseInsensitiveStringMap options) implements LogicalWriteInfo {}
