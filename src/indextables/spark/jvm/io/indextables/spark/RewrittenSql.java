package io.indextables.spark;

import java.util.ArrayList;
import java.util.List;
import org.antlr.v4.runtime.CharStreams;
import org.antlr.v4.runtime.CodePointCharStream;
import org.antlr.v4.runtime.CommonToken;
import org.antlr.v4.runtime.ParserRuleContext;
import org.antlr.v4.runtime.misc.Pair;
import org.apache.spark.QueryContext;
import org.apache.spark.sql.AnalysisException;
import org.apache.spark.sql.catalyst.parser.ParseException;
import scala.Option;

/** SQL text as Spark parses it, with a map from its positions to those of the user's text. */
final class RewrittenSql {
  private final String original;
  private final String text;
  private final List<Piece> pieces;

  /** From {@code start} on, the text equals the original from {@code originalStart} on, up to the next piece. */
  private record Piece(int start, int originalStart, boolean copied) {}

  private RewrittenSql(String original, String text, List<Piece> pieces) {
    this.original = original;
    this.text = text;
    this.pieces = pieces;
  }

  static RewrittenSql unchanged(String sql) {
    return new RewrittenSql(sql, sql, List.of());
  }

  String text() {
    return text;
  }

  /** Returns the same error with positions in, and quotes of, the text that the user wrote. */
  ParseException inOriginal(ParseException error) {
    Option<Object> line = error.start().line();
    Option<Object> column = error.start().startPosition();
    if (pieces.isEmpty() || line.isEmpty() || column.isEmpty() || error.getCondition() == null) {
      return error;
    }
    int offset = originalOffset(offset((Integer) line.get(), (Integer) column.get()));
    return new ParseException(error.getCondition(), parameters(error), at(offset));
  }

  /** Returns an analysis error of the parser, such as a parameter without a value, at its position in the user's text. */
  AnalysisException asParseError(AnalysisException error) {
    if (error.getCondition() == null) {
      return error;
    }
    QueryContext[] contexts = error.getQueryContext();
    int start = contexts.length == 0 ? 0 : Math.max(0, contexts[0].startIndex());
    int offset = originalOffset(text.codePointCount(0, Math.min(start, text.length())));
    ParseException placed = new ParseException(error.getCondition(), parameters(error), at(offset));
    placed.setStackTrace(error.getStackTrace());
    return placed;
  }

  private static scala.collection.immutable.Map<String, String> parameters(AnalysisException error) {
    return scala.collection.immutable.Map$.MODULE$.from(
        scala.jdk.javaapi.CollectionConverters.asScala(error.getMessageParameters()));
  }

  private int originalOffset(int offset) {
    if (pieces.isEmpty()) {
      return offset;
    }
    Piece last = pieces.get(0);
    for (Piece piece : pieces) {
      if (piece.start() <= offset) {
        last = piece;
      }
    }
    return last.copied() ? last.originalStart() + offset - last.start() : last.originalStart();
  }

  private int offset(int line, int column) {
    int[] points = text.codePoints().toArray();
    int start = 0;
    for (int i = 0, current = 1; i < points.length && current < line; i++) {
      if (points[i] == '\n') {
        current++;
        start = i + 1;
      }
    }
    return start + column;
  }

  /** Builds a parse position. Spark takes line, column and the quoted text from its start token. */
  private ParserRuleContext at(int offset) {
    CodePointCharStream stream = CharStreams.fromString(original);
    CommonToken token = new CommonToken(new Pair<>(null, stream), 0, 0, offset, offset);
    int[] points = original.codePoints().toArray();
    int line = 1;
    int start = 0;
    for (int i = 0; i < offset && i < points.length; i++) {
      if (points[i] == '\n') {
        line++;
        start = i + 1;
      }
    }
    token.setLine(line);
    token.setCharPositionInLine(offset - start);
    ParserRuleContext context = new ParserRuleContext();
    context.start = token;
    context.stop = token;
    return context;
  }

  /** Copies a text piece by piece, with insertions between. Positions are code points of the original. */
  static final class Builder {
    private final int[] original;
    private final StringBuilder text = new StringBuilder();
    private final List<Piece> pieces = new ArrayList<>();
    private int position;
    private int written;

    Builder(int[] original) {
      this.original = original;
    }

    int position() {
      return position;
    }

    void copyTo(int end) {
      pieces.add(new Piece(written, position, true));
      text.append(new String(original, position, end - position));
      written += end - position;
      position = end;
    }

    void skipTo(int end) {
      position = end;
    }

    void insert(String inserted) {
      pieces.add(new Piece(written, position, false));
      text.append(inserted);
      written += inserted.codePointCount(0, inserted.length());
    }

    RewrittenSql build() {
      String before = new String(original, 0, original.length);
      if (pieces.isEmpty()) {
        return unchanged(before);
      }
      copyTo(original.length);
      return new RewrittenSql(before, text.toString(), pieces);
    }
  }
}
