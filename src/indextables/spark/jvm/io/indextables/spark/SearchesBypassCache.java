package io.indextables.spark;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.CTERelationDef;
import org.apache.spark.sql.catalyst.plans.logical.CTERelationRef;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractPartialFunction;
import scala.runtime.BoxedUnit;

/**
 * Lets a search of a cached DataFrame or table go to the index, which Spark's cache does not have. Spark looks for equal
 * cached plans right after this rule. So this rule replaces a table that is searched by a copy that is equal to no other.
 * The parts of a query that are not searched still come from the cache.
 */
final class SearchesBypassCache extends Rule<LogicalPlan> {
  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    Lineage lineage = new Lineage();
    plan.foreachWithSubqueries(
        node -> {
          lineage.add(node);
          return BoxedUnit.UNIT;
        });
    Set<ExprId> searched = lineage.searched();
    return searched.isEmpty() ? plan : plan.transformUpWithSubqueries(new Copied(searched));
  }

  /** Maps each column of a plan to the columns that it is computed from. Expression ids are unique in a plan. */
  private static final class Lineage {
    private final Map<ExprId, Set<ExprId>> origins = new HashMap<>();
    private final Map<Long, LogicalPlan> definitions = new HashMap<>();
    private final Map<CTERelationRef, Long> uses = new IdentityHashMap<>();
    private final Deque<ExprId> operands = new ArrayDeque<>();

    void add(LogicalPlan node) {
      CollectionConverters.asJava(node.expressions()).forEach(this::add);
      if (node instanceof Union union) {
        CollectionConverters.asJava(union.children()).forEach(child -> addByPosition(union, child));
      } else if (node instanceof CTERelationDef definition) {
        definitions.put(definition.id(), definition);
      } else if (node instanceof CTERelationRef use) {
        uses.put(use, use.cteId());
      }
    }

    private void add(Expression expression) {
      if (expression instanceof Alias alias) {
        add(alias.exprId(), CollectionConverters.asJava(alias.references().toSeq()));
      } else if (SearchFunction.isCall(expression)) {
        CollectionConverters.asJava(expression.references().toSeq()).forEach(column -> operands.add(column.exprId()));
      }
      CollectionConverters.asJava(expression.children()).forEach(this::add);
    }

    private void addByPosition(LogicalPlan made, LogicalPlan of) {
      List<Attribute> columns = CollectionConverters.asJava(made.output());
      List<Attribute> origin = CollectionConverters.asJava(of.output());
      for (int i = 0; i < Math.min(columns.size(), origin.size()); i++) {
        add(columns.get(i).exprId(), List.of(origin.get(i)));
      }
    }

    private void add(ExprId column, List<Attribute> of) {
      Set<ExprId> ids = origins.computeIfAbsent(column, id -> new HashSet<>());
      of.forEach(origin -> ids.add(origin.exprId()));
    }

    /** The columns that are searched, and all columns that they are computed from. */
    Set<ExprId> searched() {
      Set<ExprId> columns = new HashSet<>();
      if (operands.isEmpty()) {
        return columns;
      }
      uses.forEach(
          (use, id) -> {
            if (definitions.containsKey(id)) {
              addByPosition(use, definitions.get(id));
            }
          });
      while (!operands.isEmpty()) {
        ExprId column = operands.pop();
        if (columns.add(column)) {
          operands.addAll(origins.getOrDefault(column, Set.of()));
        }
      }
      return columns;
    }
  }

  private static final class Copied extends AbstractPartialFunction<LogicalPlan, LogicalPlan> {
    private static final long serialVersionUID = 1L;

    private final transient Set<ExprId> searched;
    private final transient Map<Table, Table> copies = new IdentityHashMap<>(); // the two sides of a self-join get the same copy

    Copied(Set<ExprId> searched) {
      this.searched = searched;
    }

    @Override
    public boolean isDefinedAt(LogicalPlan plan) {
      return plan instanceof DataSourceV2Relation relation
          && relation.table() instanceof SearchedTable
          && CollectionConverters.asJava(relation.output()).stream()
              .anyMatch(column -> searched.contains(column.exprId()));
    }

    @Override
    public LogicalPlan apply(LogicalPlan plan) {
      DataSourceV2Relation relation = (DataSourceV2Relation) plan;
      Object[] arguments = CollectionConverters.asJava(relation.productIterator().toList()).toArray();
      arguments[0] = copies.computeIfAbsent(relation.table(), table -> ((SearchedTable) table).copy());
      return relation.makeCopy(arguments); // its constructor differs between Spark releases
    }
  }
}
