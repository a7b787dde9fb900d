package io.indextables.spark;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.execution.LocalTableScanExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.SparkStrategy;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Strategy;
import scala.collection.immutable.List$;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractPartialFunction;

/** Plans an {@link AnsweredScan} as Spark plans local rows, and lets {@code EXPLAIN} show what was asked. */
final class AnsweredScans extends SparkStrategy {
  private final DataSourceV2Strategy spark;

  AnsweredScans(SparkSession session) {
    spark = new DataSourceV2Strategy((org.apache.spark.sql.classic.SparkSession) session);
  }

  @Override
  public Seq<SparkPlan> apply(LogicalPlan plan) {
    AnsweredScan scan = scan(plan);
    if (scan == null) {
      return List$.MODULE$.empty();
    }
    List<SparkPlan> planned = new ArrayList<>();
    CollectionConverters.asJava(spark.apply(plan))
        .forEach(physical -> planned.add(physical.transformUp(new Described(scan.description()))));
    return CollectionConverters.asScala(planned).toList();
  }

  private static AnsweredScan scan(LogicalPlan plan) {
    if (plan instanceof Project project) {
      return scan(project.child());
    }
    if (plan instanceof Filter filter) {
      return scan(filter.child());
    }
    return plan instanceof DataSourceV2ScanRelation relation && relation.scan() instanceof AnsweredScan scan ? scan : null;
  }

  private static final class Described extends AbstractPartialFunction<SparkPlan, SparkPlan> {
    private static final long serialVersionUID = 1L;

    private final String description;

    Described(String description) {
      this.description = description;
    }

    @Override
    public boolean isDefinedAt(SparkPlan plan) {
      return plan.getClass() == LocalTableScanExec.class;
    }

    @Override
    public SparkPlan apply(SparkPlan plan) {
      try {
        return DescribedTableScan.of((LocalTableScanExec) plan, description);
      } catch (LinkageError e) {
        return plan; // the class cannot be made on this release of Spark; EXPLAIN shows less, and the rows are the same
      }
    }
  }
}
