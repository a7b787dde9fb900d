package io.indextables.spark;

import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import org.antlr.v4.runtime.CharStreams;
import org.antlr.v4.runtime.Token;
import org.apache.spark.sql.catalyst.parser.SqlBaseLexer;
import org.apache.spark.sql.catalyst.parser.UpperCaseCharStream;

/**
 * Turns a statement that begins like one of our commands into {@code CALL indextables.run('the statement')}. The grammar
 * of the commands is Python's; here is only how to tell that a statement is one, which nothing that Spark itself
 * understands must be.
 */
final class Commands {
  private static final Set<String> PRODUCT = Set.of("INDEXTABLES", "INDEXTABLE", "INDEXFILES", "TANTIVY4SPARK");
  private static final Set<String> VERBS =
      Set.of("TRUNCATE", "DROP", "REPAIR", "INVALIDATE", "CHECKPOINT", "COMPACT", "PURGE");
  /** {@code MERGE SPLITS}, which Python answers with what to do instead. */
  private static final String MERGE = "MERGE";
  private static final String SPLITS = "SPLITS";
  private static final Set<String> DESCRIBE = Set.of("DESCRIBE", "DESC");
  private static final Set<String> EXPLAIN_MODES = Set.of("LOGICAL", "FORMATTED", "EXTENDED", "CODEGEN", "COST");
  /** What may follow {@code DESCRIBE table column}, or stand in the column's place, in Spark's own SQL. */
  private static final Set<String> SPARKS_OWN = Set.of("", ".", ";", "PARTITION", "AS");

  private final int[] sql;
  private final SqlBaseLexer lexer;
  /** Where the token that was read last begins. */
  private int begin;

  private Commands(String text) {
    sql = text.codePoints().toArray(); // the lexer counts code points
    lexer = new SqlBaseLexer(new UpperCaseCharStream(CharStreams.fromString(text)));
    lexer.removeErrorListeners(); // what cannot be read is left for the parser to report
  }

  /** The statement as a call of the procedure, or nothing if it is none of our commands. */
  static Optional<String> asCall(String text) {
    String folded = text.toUpperCase(Locale.ROOT);
    if (PRODUCT.stream().noneMatch(folded::contains) && !folded.contains(SPLITS)) {
      return Optional.empty();
    }
    return new Commands(text).asCall();
  }

  /** The whole text is handed over, comments before the command too, so that positions in it stay what they are. */
  private Optional<String> asCall() {
    int start = 0;
    String word = next();
    if (word.equals("EXPLAIN")) {
      word = next();
      if (EXPLAIN_MODES.contains(word)) {
        word = next();
      }
      start = begin;
    }
    if (!isCommand(word)) {
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
    return DESCRIBE.contains(verb)
        && PRODUCT.contains(next())
        && !SPARKS_OWN.contains(next())
        && !SPARKS_OWN.contains(next());
  }

  /** The next word or sign in upper case, comments left out; empty at the end. */
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
