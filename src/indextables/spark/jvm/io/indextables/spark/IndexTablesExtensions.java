package io.indextables.spark;

import java.lang.reflect.Proxy;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.SparkSessionExtensionsProvider;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/** What a session gets from the jar alone, as a service: the search operators, and a check that each is pushed down. */
public final class IndexTablesExtensions extends AbstractFunction1<SparkSessionExtensions, BoxedUnit>
    implements SparkSessionExtensionsProvider {
  @Override
  public BoxedUnit apply(SparkSessionExtensions extensions) {
    extensions.injectParser(
        (session, parser) ->
            (ParserInterface)
                Proxy.newProxyInstance(
                    IndexTablesExtensions.class.getClassLoader(),
                    new Class<?>[] {ParserInterface.class},
                    new SearchParser(session, parser)));
    extensions.injectHintResolutionRule(TimeTravelTimes::new); // these run before tables are looked up
    extensions.injectResolutionRule(session -> new TransparentViews());
    extensions.injectPlanNormalizationRule(session -> new SearchesBypassCache());
    extensions.injectOptimizerRule(session -> new StableScoreOrder());
    extensions.injectPlannerStrategy(session -> new UnpushedSearchCheck());
    extensions.injectPlannerStrategy(AnsweredScans::new);
    return BoxedUnit.UNIT;
  }
}
