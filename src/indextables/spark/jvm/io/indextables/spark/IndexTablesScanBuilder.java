package io.indextables.spark;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.NullOrdering;
import org.apache.spark.sql.connector.expressions.SortDirection;
import org.apache.spark.sql.connector.expressions.SortOrder;
import org.apache.spark.sql.connector.expressions.aggregate.Aggregation;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.SupportsPushDownAggregates;
import org.apache.spark.sql.connector.read.SupportsPushDownLimit;
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns;
import org.apache.spark.sql.connector.read.SupportsPushDownTopN;
import org.apache.spark.sql.connector.read.SupportsPushDownV2Filters;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * Collects what Spark offers to push down. Python decides which filters the scan evaluates exactly. Spark evaluates the
 * others, and then offers neither limit nor aggregate.
 */
final class IndexTablesScanBuilder
    implements SupportsPushDownV2Filters,
        SupportsPushDownRequiredColumns,
        SupportsPushDownLimit,
        SupportsPushDownTopN,
        SupportsPushDownAggregates {
  private final TableRef asNamed;
  private final TableRef table;
  private final StructType whole;
  private StructType schema;
  private boolean isPruned;
  private boolean isOffered;
  private Predicate[] pushed = new Predicate[0];
  private boolean everyFilterPushed = true;
  private ScanShape shape = ScanShape.ALL_ROWS;
  private PushedAggregate aggregate;
  private boolean keepsAverages;

  /** The first table is as the user named it, perhaps without a version; the second is at the version to scan. */
  IndexTablesScanBuilder(TableRef asNamed, TableRef table, StructType schema) {
    this.asNamed = asNamed;
    this.table = table;
    this.whole = schema;
    this.schema = schema;
  }

  @Override
  public Predicate[] pushPredicates(Predicate[] predicates) {
    if (predicates.length == 0) {
      return predicates;
    }
    isOffered = true;
    Request request = Request.of("pushdown", table).with("filters", PredicateJson.of(List.of(predicates)));
    Set<Integer> accepted = new HashSet<>();
    for (JsonNode index : PythonBridge.ask(request).get().get("accepted")) {
      accepted.add(index.asInt());
    }
    List<Predicate> taken = new ArrayList<>();
    List<Predicate> left = new ArrayList<>();
    for (int i = 0; i < predicates.length; i++) {
      (accepted.contains(i) ? taken : left).add(predicates[i]);
    }
    pushed = taken.toArray(new Predicate[0]);
    everyFilterPushed = left.isEmpty();
    return left.toArray(new Predicate[0]);
  }

  @Override
  public Predicate[] pushedPredicates() {
    return pushed;
  }

  /** Takes the columns whole: Spark also asks for single fields of a struct, and gets them from the struct. */
  @Override
  public void pruneColumns(StructType required) {
    Set<String> columns = Set.of(whole.fieldNames());
    StructType pruned = new StructType();
    for (StructField field : required.fields()) {
      pruned = pruned.add(columns.contains(field.name()) ? whole.apply(field.name()) : field);
    }
    schema = pruned;
    isPruned = true;
  }

  @Override
  public boolean pushLimit(int limit) {
    if (shape.isAggregate()) {
      return false; // of a group there may be several rows, and Spark limits them itself
    }
    isOffered = true;
    shape = ScanShape.limit(limit);
    return true;
  }

  @Override
  public boolean pushTopN(SortOrder[] orders, int limit) {
    if (shape.isAggregate() || !isBestScoreFirst(orders)) {
      return false;
    }
    isOffered = true;
    shape = ScanShape.top(limit);
    return true;
  }

  /** Each task applies limit and top to its own rows; Spark applies them again to the rows of all tasks. */
  @Override
  public boolean isPartiallyPushed() {
    return true;
  }

  /** An aggregate that the driver has answered is complete. Otherwise Spark combines the results of tasks. */
  @Override
  public boolean supportCompletePushDown(Aggregation aggregation) {
    return everyFilterPushed && !keepsAverages && asked(aggregation).isComplete();
  }

  @Override
  public boolean pushAggregation(Aggregation aggregation) {
    if (!everyFilterPushed || keepsAverages || !asked(aggregation).isAccepted()) {
      return false;
    }
    shape = aggregate.shape();
    return true;
  }

  @Override
  public Scan build() {
    if (shape.isAggregate()) {
      return aggregate.scan();
    }
    ScanRequest scan = new ScanRequest(table, schema, List.of(pushed), shape);
    return mayBeStream() ? new UnplannedScan(asNamed, scan) : scan.planned();
  }

  /**
   * Returns whether this may be the scan of a stream. Spark offers a stream nothing but its columns, and some releases not
   * even those. A streaming query may also scan tables that are no streams.
   */
  private boolean mayBeStream() {
    return !isPruned || (!isOffered && StreamSink.queryId() != null);
  }

  private PushedAggregate asked(Aggregation aggregation) {
    aggregate = PushedAggregate.of(aggregation, table, List.of(pushed), aggregate);
    keepsAverages = aggregate.keepsAverages();
    return aggregate;
  }

  /** Returns whether this is the order in which Python returns the best rows of a split: by score, then by row key. */
  private static boolean isBestScoreFirst(SortOrder[] orders) {
    List<String> keys = MetadataColumns.ROW_KEY;
    if (orders.length != 1 && orders.length != 1 + keys.size()) {
      return false;
    }
    boolean isBestFirst =
        isBy(orders[0], MetadataColumns.SCORE)
            && orders[0].direction() == SortDirection.DESCENDING
            && orders[0].nullOrdering() == NullOrdering.NULLS_LAST;
    for (int i = 1; i < orders.length; i++) {
      isBestFirst &= isBy(orders[i], keys.get(i - 1)) && orders[i].direction() == SortDirection.ASCENDING;
    }
    return isBestFirst;
  }

  private static boolean isBy(SortOrder order, String column) {
    return order.expression() instanceof NamedReference reference
        && reference.fieldNames().length == 1
        && reference.fieldNames()[0].equals(column);
  }
}
