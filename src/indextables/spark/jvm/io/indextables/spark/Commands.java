package io.indextables.spark;

import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import org.antlr.v4.runtime.CharStreams;
import org.antlr.v4.runtime.Token;
import org.apache.spark.sql.catalyst.parser.SqlBaseLexer;
import org.apache.spark.sql.catalyst.parser.UpperCaseCharStream;

/**
 * Turns a statement that begins like one of our commands into {@code CALL indextables.run('the statement')}. Python has
 * the grammar of the commands. This class only decides whether a statement is one of them; a statement that Spark itself
 * understands never is.
 */
final class Commands {
  private static final Set<String> PRODUCT = Set.of("INDEXTABLES", "INDEXTABLE", "INDEXFILES", "TANTIVY4SPARK");
  private static final Set<String> VERBS =
      Set.of(
          "TRUNCATE", "DROP", "REPAIR", "INVALIDATE", "CHECKPOINT", "COMPACT", "PURGE", "FLUSH", "PREWARM", "BUILD", "ENABLE",
          "DISABLE");
  /** Verbs of Spark's own SQL too, which are ours only before these words. */
  private static final Map<String, String> SHARED_VERBS = Map.of("SET", "TABLE", "UNSET", "TABLE", "RESET", "PROFILER");
  private static final String MERGE = "MERGE";
  private static final String SPLITS = "SPLITS";
  /** Other formats have it too: ours for a table of our catalog, and for a path if no parser of the session takes it. */
  private static final String OPTIMIZE = "OPTIMIZE";
  /** {@code REORG TABLE}, ours under the same rule. */
  private static final String REORG = "REORG";
  private static final Set<String> DESCRIBE = Set.of("DESCRIBE", "DESC");
  /** Words after {@code DESCRIBE INDEXTABLES} that may end a command. Elsewhere they would name a column. */
  private static final Set<String> LAST_WORDS = Set.of("ENVIRONMENT", "PROFILER");
  private static final Set<String> EXPLAIN_MODES = Set.of("LOGICAL", "FORMATTED", "EXTENDED", "CODEGEN", "COST");
  /** Words that may follow {@code DESCRIBE table column}, or replace the column, in Spark's own SQL. */
  private static final Set<String> SPARKS_OWN = Set.of("", ".", ";", "PARTITION", "AS");

  private final int[] sql;
  private final SqlBaseLexer lexer;
  /** The start of the token that was read last. */
  private int begin;

  private Commands(String text) {
    sql = text.codePoints().toArray(); // the lexer counts code points
    lexer = new SqlBaseLexer(new UpperCaseCharStream(CharStreams.fromString(text)));
    lexer.removeErrorListeners(); // the parser reports what the lexer cannot read
  }

  /** Returns the statement as a call of the procedure, or empty if it is not one of our commands. */
  static Optional<String> asCall(String text) {
    String folded = text.toUpperCase(Locale.ROOT);
    if (PRODUCT.stream().noneMatch(folded::contains) && !folded.contains(SPLITS)) {
      return Optional.empty();
    }
    Commands commands = new Commands(text);
    return commands.asCall(commands::isCommand);
  }

  /** Returns {@code OPTIMIZE '/path'} or {@code REORG TABLE} as a call, if no other format of the session takes it. */
  static Optional<String> optimizeAsCall(String text) {
    Commands commands = new Commands(text);
    return commands.asCall(
        verb ->
            verb.equals(OPTIMIZE) && commands.next().matches("(?s)['\"].*")
                || verb.equals(REORG) && commands.next().equals("TABLE"));
  }

  /** Passes the whole text, with the comments before the command, so that positions in errors are right. */
  private Optional<String> asCall(Predicate<String> isCommand) {
    int start = 0;
    String word = next();
    if (word.equals("EXPLAIN")) {
      word = next();
      if (EXPLAIN_MODES.contains(word)) {
        word = next();
      }
      start = begin;
    }
    if (!isCommand.test(word)) {
      return Optional.empty();
    }
    return Optional.of(slice(0, start) + "CALL " + IndexTablesCatalog.NAME + "." + RunProcedure.NAME + "("
        + literal(slice(start, sql.length)) + ")");
  }

  private boolean isCommand(String verb) {
    if (VERBS.contains(verb)) {
      return PRODUCT.contains(next());
    }
    if (verb.equals(MERGE)) {
      return next().equals(SPLITS);
    }
    if (verb.equals(OPTIMIZE) || verb.equals(REORG) && next().equals("TABLE")) {
      return next().replace("`", "").equalsIgnoreCase(IndexTablesCatalog.NAME) && next().equals(".");
    }
    if (SHARED_VERBS.containsKey(verb)) {
      return PRODUCT.contains(next()) && next().equals(SHARED_VERBS.get(verb));
    }
    if (verb.equals("WAIT")) {
      return next().equals("FOR") && PRODUCT.contains(next());
    }
    return DESCRIBE.contains(verb) && PRODUCT.contains(next()) && isDescribed(next());
  }

  private boolean isDescribed(String word) {
    return LAST_WORDS.contains(word) || !SPARKS_OWN.contains(word) && !SPARKS_OWN.contains(next());
  }

  /** Returns the next word or sign in upper case, without comments; empty at the end. */
  private String next() {
    Token token = lexer.nextToken();
    while (token.getType() != Token.EOF && token.getChannel() != Token.DEFAULT_CHANNEL) {
      token = lexer.nextToken();
    }
    if (token.getType() == Token.EOF) {
      return "";
    }
    begin = token.getStartIndex();
    return slice(begin, token.getStopIndex() + 1).toUpperCase(Locale.ROOT);
  }

  private static String literal(String text) {
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'";
  }

  private String slice(int start, int stop) {
    return new String(sql, start, stop - start);
  }
}
