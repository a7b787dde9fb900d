package io.indextables.spark;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.Set;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.apache.spark.sql.catalyst.parser.ParserInterface;

/**
 * Spark's parser with the search operators in front of it. A dynamic proxy, since each Spark release adds methods to the
 * interface.
 */
final class SearchParser implements InvocationHandler {
  private static final Set<String> TAKES_OPERATORS =
      Set.of("parsePlan", "parsePlanWithParameters", "parseExpression", "parseQuery");

  private final SparkSession session;
  private final ParserInterface spark;

  SearchParser(SparkSession session, ParserInterface spark) {
    this.session = session;
    this.spark = spark;
  }

  @Override
  public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
    if (method.getName().startsWith("parse")) {
      IndexTablesCatalog.register(session); // spark.table() parses a name only, and may be the first call of all
    }
    if (!TAKES_OPERATORS.contains(method.getName())) {
      return forward(method, arguments);
    }
    RewrittenSql sql = SearchOperators.rewrite((String) arguments[0]);
    Object[] rewritten = arguments.clone();
    rewritten[0] = sql.text();
    try {
      return forward(method, rewritten);
    } catch (ParseException e) {
      throw sql.inOriginal(e);
    }
  }

  private Object forward(Method method, Object[] arguments) throws Throwable {
    try {
      return method.invoke(spark, arguments);
    } catch (InvocationTargetException e) {
      throw e.getCause();
    }
  }
}
