package io.indextables.spark;

import java.util.List;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.analysis.RelationTimeTravel;
import org.apache.spark.sql.catalyst.analysis.UnresolvedAlias;
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.OneRowRelation;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.errors.QueryCompilationErrors;
import org.apache.spark.sql.types.DataType;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractPartialFunction;

/**
 * Evaluates the time of {@code TIMESTAMP AS OF current_timestamp() - INTERVAL 1 HOUR}. Spark loads a table with a literal
 * time at once. Before it has resolved any other expression, it takes the table's name for a path of files.
 */
final class TimeTravelTimes extends Rule<LogicalPlan> {
  private static final String NON_DETERMINISTIC = "INVALID_TIME_TRAVEL_TIMESTAMP_EXPR.NON_DETERMINISTIC";

  private final SparkSession session;

  TimeTravelTimes(SparkSession session) {
    this.session = session;
  }

  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    return plan.resolveOperatorsUp(new WorkedOut());
  }

  /** Makes the expression a query of its own, so that it may contain functions and subqueries. */
  private Expression literal(Expression time) {
    Seq<NamedExpression> column = seq(List.of(new UnresolvedAlias(time, Option.empty())));
    LogicalPlan query = new Project(column, new OneRowRelation());
    Dataset<?> oneRow = Dataset.ofRows((org.apache.spark.sql.classic.SparkSession) session, query);
    if (!oneRow.queryExecution().analyzed().deterministic()) {
      throw Failures.unchecked(
          QueryCompilationErrors.invalidTimestampExprForTimeTravel(NON_DETERMINISTIC, time));
    }
    DataType type = oneRow.schema().apply(0).dataType();
    InternalRow row = oneRow.queryExecution().executedPlan().executeCollect()[0];
    return Literal.create(row.get(0, type), type);
  }

  private static <T> Seq<T> seq(List<T> items) {
    return CollectionConverters.asScala(items).toSeq();
  }

  private final class WorkedOut extends AbstractPartialFunction<LogicalPlan, LogicalPlan> {
    private static final long serialVersionUID = 1L;

    @Override
    public boolean isDefinedAt(LogicalPlan plan) {
      return plan instanceof RelationTimeTravel travel
          && travel.relation() instanceof UnresolvedRelation relation
          && relation.multipartIdentifier().size() == 2
          && relation.multipartIdentifier().head().equalsIgnoreCase(PythonBridge.NAME)
          && travel.timestamp().isDefined()
          && !(travel.timestamp().get() instanceof Literal);
    }

    @Override
    public LogicalPlan apply(LogicalPlan plan) {
      RelationTimeTravel travel = (RelationTimeTravel) plan;
      return travel.copy(travel.relation(), Option.apply(literal(travel.timestamp().get())), travel.version());
    }
  }
}
