package io.indextables.spark;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import org.apache.spark.sql.AnalysisException;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
import org.apache.spark.sql.internal.SQLConf;

/**
 * Spark's parser with the search operators and the commands in front of it. A dynamic proxy, since each Spark release adds
 * methods to the interface.
 */
final class SearchParser implements InvocationHandler {
  private static final Set<String> TAKES_OPERATORS =
      Set.of("parsePlan", "parsePlanWithParameters", "parseExpression", "parseQuery");
  private static final Set<String> TAKES_COMMANDS = Set.of("parsePlan", "parsePlanWithParameters");

  private final SparkSession session;
  private final ParserInterface spark;

  SearchParser(SparkSession session, ParserInterface spark) {
    this.session = session;
    this.spark = spark;
  }

  /** Turns every error into an error of the parser: a proxy may throw only what the interface declares. */
  @Override
  public Object invoke(Object proxy, Method method, Object[] arguments) throws Exception {
    try {
      return parsed(method, arguments);
    } catch (ParseException e) {
      throw e;
    } catch (AnalysisException e) {
      throw arguments[0] instanceof String text ? rewritten(method, text).asParseError(e) : e;
    }
  }

  private Object parsed(Method method, Object[] arguments) throws Exception {
    if (method.getName().startsWith("parse")) {
      IndexTablesCatalog.register(session); // spark.table() parses a name only, and may be the first call of all
    }
    if (!TAKES_OPERATORS.contains(method.getName())) {
      return forward(method, arguments);
    }
    if (TAKES_COMMANDS.contains(method.getName())) {
      Optional<String> command = Commands.asCall((String) arguments[0]);
      if (command.isPresent()) {
        return withEscapes(() -> forward(method, withSql(arguments, command.get())));
      }
    }
    RewrittenSql sql = rewritten(method, (String) arguments[0]);
    try {
      return forward(method, withSql(arguments, sql.text()));
    } catch (ParseException e) {
      Optional<String> ofPath =
          TAKES_COMMANDS.contains(method.getName()) ? Commands.ofPathAsCall((String) arguments[0]) : Optional.empty();
      if (ofPath.isPresent()) {
        return withEscapes(() -> forward(method, withSql(arguments, ofPath.get())));
      }
      throw sql.inOriginal(e);
    }
  }

  private static RewrittenSql rewritten(Method method, String text) {
    return TAKES_OPERATORS.contains(method.getName()) ? SearchOperators.rewrite(text) : RewrittenSql.unchanged(text);
  }

  /** Parses the call of a command with escapes in strings enabled, which a session may have turned off. */
  private static Object withEscapes(Callable<Object> parse) throws Exception {
    SQLConf conf = SQLConf.get();
    if (!conf.escapedStringLiterals()) {
      return parse.call();
    }
    SQLConf usual = conf.clone();
    usual.setConfString(SQLConf.ESCAPED_STRING_LITERALS().key(), "false");
    return SQLConf.withExistingConf(
        usual,
        () -> {
          try {
            return parse.call();
          } catch (Exception e) {
            throw Failures.unchecked(e);
          }
        });
  }

  private static Object[] withSql(Object[] arguments, String sql) {
    Object[] changed = arguments.clone();
    changed[0] = sql;
    return changed;
  }

  private Object forward(Method method, Object[] arguments) throws Exception {
    try {
      return method.invoke(spark, arguments);
    } catch (InvocationTargetException e) {
      throw Failures.unchecked(e.getCause());
    }
  }
}
