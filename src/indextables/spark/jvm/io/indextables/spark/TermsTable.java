package io.indextables.spark;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns;
import org.apache.spark.sql.connector.read.SupportsPushDownV2Filters;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** The rows of a table that any of many terms finds, with the column {@code _term}. */
final class TermsTable implements SupportsRead {
  private static final String TERM = "_term";

  private final TableRef ref;
  private final StructType columns;
  private final String searched;
  private final TermSearch.Terms terms;

  TermsTable(TableRef ref, StructType columns, String searched, TermSearch.Terms terms) {
    this.ref = ref;
    this.columns = columns;
    this.searched = searched;
    this.terms = terms;
  }

  @Override
  public String name() {
    return "many terms in " + ref.name();
  }

  @Override
  @SuppressWarnings("deprecation")
  public StructType schema() {
    return columns.add(TERM, DataTypes.StringType);
  }

  @Override
  public Set<TableCapability> capabilities() {
    return EnumSet.of(TableCapability.BATCH_READ);
  }

  @Override
  public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
    return new Builder();
  }

  /** Pushes down columns, and the conditions on rows that Python decides; those on the term are Spark's. */
  private final class Builder implements SupportsPushDownV2Filters, SupportsPushDownRequiredColumns {
    private StructType schema = schema();
    private Predicate[] pushed = new Predicate[0];

    private StructType schema() {
      return TermsTable.this.schema();
    }

    @Override
    public Predicate[] pushPredicates(Predicate[] predicates) {
      List<Predicate> onRows = new ArrayList<>();
      List<Predicate> left = new ArrayList<>();
      for (Predicate predicate : predicates) {
        (Arrays.stream(predicate.references()).anyMatch(Builder::isTerm) ? left : onRows).add(predicate);
      }
      Request request = Request.of("pushdown", ref).with("filters", PredicateJson.of(onRows));
      Set<Integer> accepted = new HashSet<>();
      for (JsonNode index : PythonBridge.ask(request).get().get("accepted")) {
        accepted.add(index.asInt());
      }
      List<Predicate> taken = new ArrayList<>();
      for (int i = 0; i < onRows.size(); i++) {
        (accepted.contains(i) ? taken : left).add(onRows.get(i));
      }
      pushed = taken.toArray(new Predicate[0]);
      return left.toArray(new Predicate[0]);
    }

    private static boolean isTerm(NamedReference reference) {
      return reference.fieldNames()[0].equals(TERM);
    }

    @Override
    public Predicate[] pushedPredicates() {
      return pushed;
    }

    /** Takes the columns whole, and always the term, which Python returns last. */
    @Override
    public void pruneColumns(StructType required) {
      StructType pruned = new StructType();
      for (StructField field : required.fields()) {
        pruned = field.name().equals(TERM) ? pruned : pruned.add(columns.apply(field.name()));
      }
      schema = pruned.add(TERM, DataTypes.StringType);
    }

    @Override
    public Scan build() {
      return new ScanRequest(
              ref,
              schema,
              List.of(pushed),
              ScanShape.ALL_ROWS,
              request -> request.with("search_column", searched).with("terms", Json.strings(terms.collected())))
          .inTasks();
    }
  }
}
