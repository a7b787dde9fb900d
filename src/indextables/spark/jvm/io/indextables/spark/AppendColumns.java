package io.indextables.spark;

import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.catalyst.analysis.NamedRelation;
import org.apache.spark.sql.catalyst.plans.logical.AppendData;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.V2WriteCommand;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.types.StructType;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractPartialFunction;

/**
 * Gives an append to a table of a catalog its columns: those of the table, and with {@code mergeSchema} those that the rows
 * have and the table lacks. Spark loads a table before it looks at rows and options, so such a table accepts any rows at
 * first. With the columns in place, Spark fits the rows to them.
 */
final class AppendColumns extends Rule<LogicalPlan> {
  /** Returns the request for the columns of an append of rows with this schema. */
  static Request request(TableRef table, StructType rows) {
    return Request.of("append_schema", table).with("schema", rows.json());
  }

  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    return plan.resolveOperatorsUp(new Fit());
  }

  private static final class Fit extends AbstractPartialFunction<LogicalPlan, LogicalPlan> {
    private static final long serialVersionUID = 1L;

    @Override
    public boolean isDefinedAt(LogicalPlan plan) {
      if (plan instanceof V2WriteCommand write) {
        return isOpen((LogicalPlan) write.table()) && write.query().resolved();
      }
      return isOpen(plan); // the target of a MERGE that only inserts
    }

    @Override
    public LogicalPlan apply(LogicalPlan plan) {
      if (!(plan instanceof V2WriteCommand write)) {
        DataSourceV2Relation target = (DataSourceV2Relation) plan;
        return (LogicalPlan) with(target, ((WritableTable) target.table()).closed(), null);
      }
      DataSourceV2Relation relation = (DataSourceV2Relation) write.table();
      WritableTable table = (WritableTable) relation.table();
      if (!(write instanceof AppendData append && append.isByName())) {
        return (LogicalPlan) write.withNewTable(with(relation, table.closed(), null));
      }
      Map<String, String> options = new HashMap<>(relation.options().asCaseSensitiveMap());
      options.putAll(CollectionConverters.asJava(append.writeOptions()));
      TableRef ref = table.ref().withOptions(options);
      StructType columns = Description.appendSchema(PythonBridge.ask(request(ref, append.query().schema())).get());
      return (LogicalPlan) append.withNewTable(with(relation, table.closed(columns), columns));
    }
  }

  private static boolean isOpen(LogicalPlan plan) {
    return plan instanceof DataSourceV2Relation relation
        && relation.table() instanceof WritableTable table
        && table.isOpen();
  }

  /** Returns the relation with another table, and with new columns unless they are null. */
  private static NamedRelation with(DataSourceV2Relation relation, WritableTable table, StructType columns) {
    Object[] arguments = CollectionConverters.asJava(relation.productIterator().toList()).toArray();
    arguments[0] = table;
    if (columns != null) {
      arguments[1] = DataSourceV2Relation.create(table, relation.catalog(), relation.identifier()).output();
    }
    return (NamedRelation) relation.makeCopy(arguments); // its constructor differs between Spark releases
  }
}
