package io.indextables.spark;

import com.fasterxml.jackson.databind.node.BooleanNode;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * The part of a table that an overwrite replaces.
 *
 * @param where the condition of the rows, or null
 * @param dynamic whether the partitions of the new rows are replaced, and no others
 */
record Replacement(String where, boolean dynamic) {
  static final Replacement ALL = new Replacement(null, false);
  static final Replacement DYNAMIC = new Replacement(null, true);
  static final String WHERE_OPTION = "replaceWhere";
  static final String PARTITIONS_OPTION = "partitionOverwriteMode";

  /** Reads the options of a DataFrameWriter. The option has precedence over the session, and a condition over both. */
  static Replacement of(CaseInsensitiveStringMap options, WriteMode mode) {
    String where = options.get(WHERE_OPTION);
    String partitions = options.getOrDefault(PARTITIONS_OPTION, SQLConf.get().partitionOverwriteMode().toString());
    if (where != null && options.containsKey(PARTITIONS_OPTION) && partitions.equalsIgnoreCase("dynamic")) {
      throw Failures.analysis("replaceWhere and partitionOverwriteMode=dynamic exclude each other; give one of them");
    }
    boolean isDynamic = mode == WriteMode.OVERWRITE && where == null && partitions.equalsIgnoreCase("dynamic");
    return new Replacement(where, isDynamic);
  }

  boolean isPart() {
    return where != null || dynamic;
  }

  Request addTo(Request request) {
    Request conditional = where == null ? request : request.with("replace_where", where);
    return dynamic ? conditional.with("replace_partitions", BooleanNode.TRUE) : conditional;
  }
}
