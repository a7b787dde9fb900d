package io.indextables.spark;

import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.sql.connector.write.BatchWrite;
import org.apache.spark.sql.connector.write.DataWriterFactory;
import org.apache.spark.sql.connector.write.PhysicalWriteInfo;
import org.apache.spark.sql.connector.write.WriterCommitMessage;

/** A Python batch write whose failed commit gives the message alone, without a traceback, and whose commit starts upkeep. */
final class PlainErrorsBatchWrite implements BatchWrite {
  private static final Pattern OUR_ERROR = Pattern.compile("(?m)^indextables\\.errors\\.\\w+: (.*)");

  private final BatchWrite python;
  private final Upkeep upkeep;

  PlainErrorsBatchWrite(BatchWrite python, Upkeep upkeep) {
    this.python = python;
    this.upkeep = upkeep;
  }

  @Override
  public DataWriterFactory createBatchWriterFactory(PhysicalWriteInfo info) {
    return python.createBatchWriterFactory(info);
  }

  @Override
  public boolean useCommitCoordinator() {
    return python.useCommitCoordinator();
  }

  @Override
  public void onDataWriterCommit(WriterCommitMessage message) {
    python.onDataWriterCommit(message);
  }

  @Override
  public void commit(WriterCommitMessage[] messages) {
    try {
      python.commit(messages);
    } catch (Exception e) { // Spark's is a checked exception that Scala does not declare
      Matcher sentence = OUR_ERROR.matcher(String.valueOf(e.getMessage()));
      if (sentence.find()) {
        throw Failures.analysis(sentence.group(1));
      }
      throw Failures.unchecked(e);
    }
    upkeep.afterCommit(messages.length);
  }

  @Override
  public void abort(WriterCommitMessage[] messages) {
    python.abort(messages);
  }
}
