package io.indextables.spark;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Pattern;
import org.antlr.v4.runtime.CharStreams;
import org.antlr.v4.runtime.Token;
import org.apache.spark.sql.catalyst.parser.SqlBaseLexer;
import org.apache.spark.sql.catalyst.parser.UpperCaseCharStream;
import org.apache.spark.sql.internal.SQLConf;

/**
 * Turns {@code column [NOT] TEXTSEARCH 'query'} into {@code indextables.textsearch(column, 'query')}, and likewise for the
 * other operators and for {@code *} in place of a column.
 *
 * <p>Spark's own lexer reads the text, so strings, comments and quoted names are the same as in Spark. None of the forms
 * that are rewritten is valid SQL otherwise. Tokens are compared by name, since their numbers differ between Spark
 * releases.
 */
final class SearchOperators {
  private static final Set<String> STRINGS = Set.of("STRING_LITERAL", "DOUBLEQUOTED_STRING");
  /** Words that cannot end an operand: the word is not a column, and a {@code *} after it is not a multiplication. */
  private static final Set<String> NOT_OPERANDS =
      Set.of(
          "SELECT", "DISTINCT", "WHERE", "AND", "OR", "NOT", "ON", "HAVING", "QUALIFY", "CASE", "WHEN", "THEN", "ELSE", "BY",
          "AS", "FROM", "JOIN", "IN", "IS", "LIKE", "RLIKE", "BETWEEN");

  /** Characters that make an escape sequence after a backslash. */
  private static final Pattern ESCAPE = Pattern.compile("[0bnrtZ]|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[01][0-7]{2}");

  private final int[] sql;
  private final List<Word> words = new ArrayList<>();

  private record Word(String kind, String text, int start, int end) {
    boolean is(String word) {
      return text.equalsIgnoreCase(word);
    }

    boolean isString() {
      return STRINGS.contains(kind);
    }

    boolean isName() {
      int first = text.codePointAt(0);
      return (first == '`' || first == '_' || Character.isLetter(first))
          && !isString()
          && !NOT_OPERANDS.contains(text.toUpperCase(Locale.ROOT));
    }

    boolean endsOperand() {
      int first = text.codePointAt(0);
      return isName() || isString() || is(")") || is("]") || Character.isDigit(first) || is("NULL") || is("END");
    }
  }

  private SearchOperators(String text) {
    sql = text.codePoints().toArray(); // the lexer counts code points
    SqlBaseLexer lexer = new SqlBaseLexer(new UpperCaseCharStream(CharStreams.fromString(text)));
    lexer.removeErrorListeners(); // the parser reports what the lexer cannot read
    for (Token token = lexer.nextToken(); token.getType() != Token.EOF; token = lexer.nextToken()) {
      if (token.getChannel() == Token.DEFAULT_CHANNEL && token.getStopIndex() >= token.getStartIndex()) {
        String kind = lexer.getVocabulary().getSymbolicName(token.getType());
        words.add(new Word(kind, slice(token.getStartIndex(), token.getStopIndex() + 1), token.getStartIndex(),
            token.getStopIndex() + 1));
      }
    }
  }

  static RewrittenSql rewrite(String text) {
    String folded = text.toLowerCase(Locale.ROOT);
    if (SearchFunction.NAMES.stream().noneMatch(folded::contains)) {
      return RewrittenSql.unchanged(text);
    }
    return new SearchOperators(text).rewrite();
  }

  private RewrittenSql rewrite() {
    RewrittenSql.Builder result = new RewrittenSql.Builder(sql);
    for (int operator = 1; operator + 1 < words.size(); operator++) {
      String function = words.get(operator).text().toLowerCase(Locale.ROOT);
      if (!SearchFunction.NAMES.contains(function)) {
        continue;
      }
      boolean negated = words.get(operator - 1).is("NOT");
      int last = negated ? operator - 2 : operator - 1;
      int first = last < 0 ? -1 : startOfOperand(last);
      int end = endOfQuery(operator + 1);
      if (first < 0 || end < 0 || words.get(first).start() < result.position()) {
        continue;
      }
      result.copyTo(words.get(first).start());
      result.insert((negated ? "(NOT " : "") + IndexTablesCatalog.NAME + "." + function + "(");
      if (words.get(last).is("*")) {
        result.copyTo(words.get(last).start());
        result.insert(MetadataColumns.ALL);
      } else {
        result.copyTo(words.get(last).end());
      }
      result.insert(", ");
      result.skipTo(words.get(operator + 1).start());
      for (Word word : words.subList(operator + 1, end + 1)) {
        copyQuery(word, result);
      }
      result.insert(negated ? "))" : ")");
    }
    return result.build();
  }

  /**
   * Copies a part of a query and doubles the backslashes that Spark would drop from a string literal: in a query such as
   * {@code "C:\\Windows"} they separate words.
   */
  private void copyQuery(Word word, RewrittenSql.Builder result) {
    boolean raw = word.text().startsWith("r") || word.text().startsWith("R");
    if (word.isString() && !raw && !SQLConf.get().escapedStringLiterals()) {
      for (int at = word.start(); at + 1 < word.end(); at++) {
        if (sql[at] == '\\') {
          if (isLost(at, word.end())) {
            result.copyTo(at);
            result.insert("\\");
          }
          at++;
        }
      }
    }
    result.copyTo(word.end());
  }

  /** Returns whether Spark would drop this backslash: the letter or digit after it makes no escape sequence. */
  private boolean isLost(int backslash, int end) {
    String rest = slice(backslash + 1, Math.min(end, backslash + 10));
    return Character.isLetterOrDigit(rest.codePointAt(0)) && !ESCAPE.matcher(rest).lookingAt();
  }

  /** Returns the first word of the {@code name(.name)*}, {@code *} or {@code name(.name)*.*} that ends here, or -1. */
  private int startOfOperand(int last) {
    boolean star = words.get(last).is("*");
    boolean qualified = last >= 2 && words.get(last - 1).is(".") && words.get(last - 2).isName();
    if (star && !qualified) {
      return last >= 1 && words.get(last - 1).endsOperand() ? -1 : last;
    }
    if (!star && !words.get(last).isName()) {
      return -1;
    }
    int first = last;
    while (first >= 2 && words.get(first - 1).is(".") && words.get(first - 2).isName()) {
      first -= 2;
    }
    return first;
  }

  /** Returns the last word of the strings, {@code ?} or {@code :name} that begin here, or -1. */
  private int endOfQuery(int first) {
    Word word = words.get(first);
    if (word.isString()) {
      int last = first;
      while (last + 1 < words.size() && words.get(last + 1).isString()) {
        last++;
      }
      return last;
    }
    if (word.is("?")) {
      return first;
    }
    boolean named = word.is(":") && first + 1 < words.size() && words.get(first + 1).start() == word.end();
    return named ? first + 1 : -1;
  }

  private String slice(int start, int end) {
    return new String(sql, start, end - start);
  }
}
