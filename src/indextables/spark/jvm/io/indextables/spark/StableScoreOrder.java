package io.indextables.spark;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.Ascending$;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.NullsFirst$;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.GlobalLimit;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LocalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Offset;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Sample;
import org.apache.spark.sql.catalyst.plans.logical.Sort;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias;
import org.apache.spark.sql.catalyst.plans.logical.Window;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractPartialFunction;

/**
 * Makes {@code ORDER BY _score} deterministic: rows of equal score are ordered by the path of their split and the position
 * in it. Spark's order of ties may differ between runs, so pages by {@code LIMIT 10 OFFSET n} would repeat or miss rows.
 */
final class StableScoreOrder extends Rule<LogicalPlan> {
  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    return plan.transformDown(new Sorts());
  }

  private static final class Sorts extends AbstractPartialFunction<LogicalPlan, LogicalPlan> {
    private static final long serialVersionUID = 1L;

    @Override
    public boolean isDefinedAt(LogicalPlan plan) {
      return plan instanceof Sort sort && sort.global();
    }

    @Override
    public LogicalPlan apply(LogicalPlan plan) {
      return ordered((Sort) plan);
    }
  }

  private static LogicalPlan ordered(Sort sort) {
    List<SortOrder> orders = new ArrayList<>(CollectionConverters.asJava(sort.order()));
    Set<ExprId> sortedBy = new HashSet<>();
    orders.forEach(order -> sortedBy.addAll(references(order)));
    Keyed child = keyed(sort.child(), sortedBy);
    List<Attribute> keys = child.keys().stream().filter(key -> !sortedBy.contains(key.exprId())).toList();
    if (keys.isEmpty()) {
      return sort;
    }
    keys.forEach(key -> orders.add(new SortOrder(key, Ascending$.MODULE$, NullsFirst$.MODULE$, seq(List.of()))));
    Object[] arguments = CollectionConverters.asJava(sort.productIterator().toList()).toArray();
    arguments[0] = seq(orders);
    arguments[2] = child.plan();
    LogicalPlan stable = sort.makeCopy(arguments); // its constructor differs between Spark releases
    return new Project(seq(new ArrayList<NamedExpression>(CollectionConverters.asJava(sort.output()))), stable);
  }

  /** A plan whose output has the row keys (path and position) of each table by whose scores it is sorted. */
  private record Keyed(LogicalPlan plan, List<Attribute> keys) {
    static Keyed none(LogicalPlan plan) {
      return new Keyed(plan, List.of());
    }

    /** The keys as this plan returns them: an outer join makes them nullable, a semi-join drops those of one side. */
    static Keyed of(LogicalPlan plan, List<Attribute> keys) {
      Set<ExprId> keyIds = ids(keys);
      List<Attribute> output = CollectionConverters.asJava(plan.output());
      return new Keyed(plan, output.stream().filter(column -> keyIds.contains(column.exprId())).toList());
    }
  }

  private static Keyed keyed(LogicalPlan plan, Set<ExprId> sortedBy) {
    if (plan instanceof DataSourceV2Relation relation) {
      return keyed(relation, sortedBy);
    }
    if (plan instanceof Project project) {
      return keyed(project, sortedBy);
    }
    if (!passesColumnsOn(plan)) {
      return Keyed.none(plan);
    }
    List<LogicalPlan> children = new ArrayList<>();
    List<Attribute> keys = new ArrayList<>();
    for (LogicalPlan child : CollectionConverters.asJava(plan.children())) {
      Keyed keyedChild = keyed(child, sortedBy);
      children.add(keyedChild.plan());
      keys.addAll(keyedChild.keys());
    }
    return keys.isEmpty() ? Keyed.none(plan) : Keyed.of(plan.withNewChildren(seq(children)), keys);
  }

  private static Keyed keyed(DataSourceV2Relation relation, Set<ExprId> sortedBy) {
    List<Attribute> output = new ArrayList<>(CollectionConverters.asJava(relation.output()));
    boolean isByScore =
        MetadataColumns.isComputedBy(relation.table())
            && output.stream()
                .anyMatch(column -> column.name().equals(MetadataColumns.SCORE) && sortedBy.contains(column.exprId()));
    List<Attribute> keys = output.stream().filter(column -> MetadataColumns.ROW_KEY.contains(column.name())).toList();
    return isByScore && keys.size() == MetadataColumns.ROW_KEY.size() ? new Keyed(relation, keys) : Keyed.none(relation);
  }

  private static Keyed keyed(Project project, Set<ExprId> sortedBy) {
    List<NamedExpression> columns = new ArrayList<>(CollectionConverters.asJava(project.projectList()));
    Set<ExprId> below = new HashSet<>();
    columns.stream()
        .filter(column -> sortedBy.contains(column.exprId()))
        .forEach(column -> below.addAll(references((Expression) column)));
    Keyed child = keyed(project.child(), below);
    if (child.keys().isEmpty()) {
      return Keyed.none(project);
    }
    Set<ExprId> there = ids(CollectionConverters.asJava(project.output()));
    child.keys().stream().filter(key -> !there.contains(key.exprId())).forEach(columns::add);
    return Keyed.of(new Project(seq(columns), child.plan()), child.keys());
  }

  /** Returns whether the plan passes on an additional column of its child and changes nothing else. */
  private static boolean passesColumnsOn(LogicalPlan plan) {
    return plan instanceof Filter
        || plan instanceof Sort
        || plan instanceof Join
        || plan instanceof GlobalLimit
        || plan instanceof LocalLimit
        || plan instanceof Offset
        || plan instanceof Window
        || plan instanceof Sample
        || plan instanceof SubqueryAlias;
  }

  private static Set<ExprId> references(Expression expression) {
    return ids(CollectionConverters.asJava(expression.references().toSeq()));
  }

  private static Set<ExprId> ids(List<? extends Attribute> columns) {
    Set<ExprId> ids = new HashSet<>();
    columns.forEach(column -> ids.add(column.exprId()));
    return ids;
  }

  private static <T> Seq<T> seq(List<T> items) {
    return CollectionConverters.asScala(items).toSeq();
  }
}
