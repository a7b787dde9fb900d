package io.indextables.spark;

import com.fasterxml.jackson.databind.node.BooleanNode;
import java.util.Map;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * The part of a table that an overwrite replaces.
 *
 * @param where the condition of the rows, or null
 * @param dynamic whether the partitions of the new rows are replaced, and no others
 */
record Replacement(String where, boolean dynamic) {
  static final Replacement DYNAMIC = new Replacement(null, true);
  static final String WHERE_OPTION = "replaceWhere";
  static final String PARTITIONS_OPTION = "partitionOverwriteMode";
  private static final String STATIC = "static";

  /** Reads the options of a write to a path. The option has precedence over the session, and a condition over both. */
  static Replacement of(CaseInsensitiveStringMap options, WriteMode mode) {
    Replacement given = ofOptions(options);
    boolean isDynamic =
        options.containsKey(PARTITIONS_OPTION) ? given.dynamic : given.where == null && isSessionDynamic();
    return new Replacement(given.where, isDynamic && mode == WriteMode.OVERWRITE);
  }

  /** Reads the options of a write to a table of a catalog. Spark itself reads the session's setting for it. */
  static Replacement ofOptions(CaseInsensitiveStringMap options) {
    String where = options.get(WHERE_OPTION);
    String partitions = options.getOrDefault(PARTITIONS_OPTION, STATIC);
    if (!partitions.equalsIgnoreCase(STATIC) && !partitions.equalsIgnoreCase("dynamic")) {
      throw Failures.analysis("partitionOverwriteMode is '" + partitions + "'; it takes static or dynamic");
    }
    boolean isDynamic = partitions.equalsIgnoreCase("dynamic");
    if (where != null && isDynamic) {
      throw Failures.analysis("replaceWhere and partitionOverwriteMode=dynamic exclude each other; give one of them");
    }
    return new Replacement(where, isDynamic);
  }

  /** Refuses these options among the properties of a table that is created or replaced as a whole. */
  static void refuse(Map<String, String> properties) {
    for (String key : properties.keySet()) {
      String option =
          key.startsWith(TableCatalog.OPTION_PREFIX) ? key.substring(TableCatalog.OPTION_PREFIX.length()) : key;
      if (option.equalsIgnoreCase(WHERE_OPTION) || option.equalsIgnoreCase(PARTITIONS_OPTION)) {
        throw Failures.analysis(
            option + " is an option of one write, and no property of a table, which is created or replaced as a whole. "
                + "INSERT INTO t REPLACE WHERE ... and INSERT OVERWRITE t PARTITION (...) replace a part of one");
      }
    }
  }

  /**
   * Returns the part that the partitions of the new rows are, as the statement says, unless these options of the write
   * say otherwise. Spark makes such a statement of {@code insertInto} too, where the session's mode is dynamic: a
   * condition then has precedence.
   */
  Replacement ofPartitions(CaseInsensitiveStringMap options) {
    if (where != null && isSessionDynamic()) {
      return this;
    }
    if (where != null) {
      throw Failures.analysis(
          "overwritePartitions replaces the partitions of the new rows, and replaceWhere names other rows; give one of "
              + "them");
    }
    if (options.containsKey(PARTITIONS_OPTION) && !dynamic) {
      throw Failures.analysis(
          "the write replaces the partitions of the new rows, and its option partitionOverwriteMode is static; leave the "
              + "option out, or set spark.sql.sources.partitionOverwriteMode to static to replace all rows");
    }
    return DYNAMIC;
  }

  private static boolean isSessionDynamic() {
    return SQLConf.get().partitionOverwriteMode().toString().equalsIgnoreCase("dynamic");
  }

  boolean isPart() {
    return where != null || dynamic;
  }

  Request addTo(Request request) {
    Request conditional = where == null ? request : request.with("replace_where", where);
    return dynamic ? conditional.with("replace_partitions", BooleanNode.TRUE) : conditional;
  }
}
