package io.indextables.spark;

import java.util.ArrayList;
import java.util.List;
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
          "DISABLE", "EMPTY");
  /** Verbs of Spark's own SQL too, which are ours only before these words. */
  private static final Map<String, String> SHARED_VERBS = Map.of("SET", "TABLE", "UNSET", "TABLE", "RESET", "PROFILER");
  private static final String MERGE = "MERGE";
  private static final String SPLITS = "SPLITS";
  /**
   * Statements that other formats have too. They are ours for a table of our catalog or one that was created {@code USING
   * indextables}, and for a path if no parser of the session takes it.
   */
  private static final String OPTIMIZE = "OPTIMIZE";
  private static final String REORG = "REORG";
  private static final String RESTORE = "RESTORE";
  private static final String VACUUM = "VACUUM";
  private static final String HISTORY = "HISTORY";
  private static final Set<String> SHARED_STATEMENTS = Set.of(OPTIMIZE, REORG, RESTORE, VACUUM, HISTORY);
  private static final Set<String> DESCRIBE = Set.of("DESCRIBE", "DESC");
  /** Words after {@code DESCRIBE INDEXTABLES} that may end a command. Elsewhere they would name a column. */
  private static final Set<String> LAST_WORDS = Set.of("ENVIRONMENT", "PROFILER");
  private static final Set<String> EXPLAIN_MODES = Set.of("LOGICAL", "FORMATTED", "EXTENDED", "CODEGEN", "COST");
  /** Words that may follow {@code DESCRIBE table column}, or replace the column, in Spark's own SQL. */
  private static final Set<String> SPARKS_OWN = Set.of("", ".", ";", "PARTITION", "AS");

  private final int[] sql;
  private final SqlBaseLexer lexer;
  /** The token that was read last: its start, and its text, also in upper case. */
  private int begin;
  private String asWritten = "";
  private String word = "";

  private Commands(String text) {
    sql = text.codePoints().toArray(); // the lexer counts code points
    lexer = new SqlBaseLexer(new UpperCaseCharStream(CharStreams.fromString(text)));
    lexer.removeErrorListeners(); // the parser reports what the lexer cannot read
  }

  /** Returns the statement as a call of the procedure, or empty if it is not one of our commands. */
  static Optional<String> asCall(String text) {
    String folded = text.toUpperCase(Locale.ROOT);
    if (PRODUCT.stream().anyMatch(folded::contains) || folded.contains(SPLITS)) {
      Commands commands = new Commands(text);
      Optional<String> call = commands.asCall(commands::isCommand);
      if (call.isPresent()) {
        return call;
      }
    }
    if (SHARED_STATEMENTS.stream().noneMatch(folded::contains)) {
      return Optional.empty();
    }
    Commands commands = new Commands(text);
    return commands.asCall(verb -> commands.beginsTable(verb) && commands.isOurTable());
  }

  /** Returns {@code OPTIMIZE '/path'} and the like as a call, if no other format of the session takes it. */
  static Optional<String> ofPathAsCall(String text) {
    Commands commands = new Commands(text);
    return commands.asCall(
        verb ->
            commands.beginsTable(verb)
                && (verb.equals(REORG) || commands.word.matches("(?s)['\"].*") || commands.isPathName()));
  }

  /** Passes the whole text, with the comments before the command, so that positions in errors are right. */
  private Optional<String> asCall(Predicate<String> isCommand) {
    int start = 0;
    String verb = next();
    if (verb.equals("EXPLAIN")) {
      verb = next();
      if (EXPLAIN_MODES.contains(verb)) {
        verb = next();
      }
      start = begin;
    }
    if (!isCommand.test(verb)) {
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

  /** Returns whether the statement is one that other formats have too. The word is then the first of its table. */
  private boolean beginsTable(String verb) {
    boolean begins =
        switch (verb) {
          case OPTIMIZE, VACUUM -> true;
          case REORG -> next().equals("TABLE");
          case RESTORE -> true;
          default -> DESCRIBE.contains(verb) && next().equals(HISTORY);
        };
    if (begins && next().equals("TABLE") && verb.equals(RESTORE)) {
      next();
    }
    return begins;
  }

  /** Returns whether the name that begins at the word is that of a table of this format. */
  private boolean isOurTable() {
    List<String> parts = new ArrayList<>();
    do {
      String part = word.startsWith("`") ? asWritten.substring(1, asWritten.length() - 1).replace("``", "`") : asWritten;
      if (!word.startsWith("`") && !part.matches("\\w+")) {
        return false;
      }
      parts.add(part);
    } while (next().equals(".") && !next().isEmpty());
    if (parts.size() == 2 && parts.get(0).equalsIgnoreCase(IndexTablesCatalog.NAME)) {
      return true; // a path
    }
    return NamedTable.find(parts).isPresent();
  }

  /** Returns whether the word is a path in back quotes. */
  private boolean isPathName() {
    return word.startsWith("`") && word.contains("/");
  }

  /** Returns the next word or sign in upper case, without comments; empty at the end. */
  private String next() {
    Token token = lexer.nextToken();
    while (token.getType() != Token.EOF && token.getChannel() != Token.DEFAULT_CHANNEL) {
      token = lexer.nextToken();
    }
    asWritten = "";
    if (token.getType() != Token.EOF) {
      begin = token.getStartIndex();
      asWritten = slice(begin, token.getStopIndex() + 1);
    }
    word = asWritten.toUpperCase(Locale.ROOT);
    return word;
  }

  private static String literal(String text) {
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'";
  }

  private String slice(int start, int stop) {
    return new String(sql, start, stop - start);
  }
}
