package io.indextables.spark;

import java.lang.reflect.Proxy;
import java.util.Collections;
import java.util.Set;
import java.util.WeakHashMap;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.SparkSessionExtensionsProvider;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/**
 * What a session gets from the jar alone, as a service: the search operators, and a check that each is pushed down.
 *
 * <p>A session may name this class, or another name of it, in {@code spark.sql.extensions} too. It is applied once: its
 * strategies and rules would otherwise run twice in every query.
 */
public class IndexTablesExtensions extends AbstractFunction1<SparkSessionExtensions, BoxedUnit>
    implements SparkSessionExtensionsProvider {
  private static final Set<SparkSessionExtensions> APPLIED =
      Collections.synchronizedSet(Collections.newSetFromMap(new WeakHashMap<>()));

  @Override
  public BoxedUnit apply(SparkSessionExtensions extensions) {
    if (!APPLIED.add(extensions)) {
      return BoxedUnit.UNIT;
    }
    OriginalFunctions.inject(extensions);
    TermSearch.inject(extensions);
    BucketFunction.inject(extensions);
    extensions.injectParser(
        (session, parser) ->
            (ParserInterface)
                Proxy.newProxyInstance(
                    IndexTablesExtensions.class.getClassLoader(),
                    new Class<?>[] {ParserInterface.class},
                    new SearchParser(session, parser)));
    extensions.injectHintResolutionRule(TimeTravelTimes::new); // these run before tables are looked up
    extensions.injectResolutionRule(session -> new TransparentViews());
    extensions.injectResolutionRule(session -> new AppendColumns());
    extensions.injectPlanNormalizationRule(session -> new SearchesBypassCache());
    extensions.injectOptimizerRule(session -> new StableScoreOrder());
    extensions.injectPlannerStrategy(session -> new UnpushedSearchCheck());
    extensions.injectPlannerStrategy(AnsweredScans::new);
    return BoxedUnit.UNIT;
  }
}
