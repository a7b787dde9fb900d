package io.indextables.spark;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import org.apache.spark.TaskContext;
import org.apache.spark.TaskContext$;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.DataWriterFactory;
import org.apache.spark.sql.connector.write.DeltaWriter;
import org.apache.spark.sql.connector.write.DeltaWriterFactory;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Passes the changed rows of a task to Python. Spark hands over one row after the other, while the writer of Spark's Python
 * source takes an iterator: a thread of its own runs that writer, and a bounded queue is between the two.
 */
final class RowChangeQueue implements DeltaWriter<InternalRow> {
  private static final int DELETED = 0; // the kinds, as Python knows them
  private static final int UPDATED = 1;
  private static final int INSERTED = 2;
  private static final int CHUNK = 256;
  private static final int CHUNKS = 16;
  private static final List<InternalRow> END = new ArrayList<>();
  private static final List<InternalRow> ABORTED = new ArrayList<>();

  private final DataWriter<InternalRow> python;
  private final StructField[] columns;
  private final BlockingQueue<List<InternalRow>> queue = new ArrayBlockingQueue<>(CHUNKS);
  private final Thread thread;
  private List<InternalRow> chunk = new ArrayList<>(CHUNK);
  private volatile Throwable failure;

  private RowChangeQueue(DataWriter<InternalRow> python, StructType columns) {
    this.python = python;
    this.columns = columns.fields();
    TaskContext context = TaskContext.get();
    this.thread = new Thread(() -> run(context), "indextables row changes");
    thread.setDaemon(true);
    thread.start();
  }

  record Factory(DataWriterFactory python, StructType columns) implements DeltaWriterFactory {
    private static final long serialVersionUID = 1L;

    @Override
    public DeltaWriter<InternalRow> createWriter(int partition, long task) {
      return new RowChangeQueue(python.createWriter(partition, task), columns);
    }
  }

  private void run(TaskContext context) {
    TaskContext$.MODULE$.setTaskContext(context); // the Python worker belongs to the task
    try {
      python.writeAll(new Rows());
    } catch (Throwable e) {
      failure = e;
    } finally {
      TaskContext$.MODULE$.unset();
    }
  }

  private final class Rows implements Iterator<InternalRow> {
    private Iterator<InternalRow> rows = List.<InternalRow>of().iterator();
    private boolean ended;

    @Override
    public boolean hasNext() {
      while (!ended && !rows.hasNext()) {
        List<InternalRow> next = take();
        if (next == ABORTED) {
          throw new IllegalStateException("the task has failed");
        }
        ended = next == END;
        rows = next.iterator();
      }
      return !ended;
    }

    @Override
    public InternalRow next() {
      hasNext();
      return rows.next();
    }

    private List<InternalRow> take() {
      try {
        return queue.take();
      } catch (InterruptedException e) {
        throw new IllegalStateException("the task has ended", e);
      }
    }
  }

  @Override
  public void delete(InternalRow metadata, InternalRow id) throws IOException {
    put(DELETED, id, null);
  }

  @Override
  public void update(InternalRow metadata, InternalRow id, InternalRow row) throws IOException {
    put(UPDATED, id, row);
  }

  @Override
  public void insert(InternalRow row) throws IOException {
    put(INSERTED, null, row);
  }

  private void put(int kind, InternalRow id, InternalRow row) throws IOException {
    UTF8String split = id == null ? null : id.getUTF8String(0).clone();
    Long number = id == null ? null : id.getLong(1);
    chunk.add(new GenericInternalRow(new Object[] {kind, split, number, row == null ? null : copy(row)}));
    if (chunk.size() == CHUNK) {
      send(chunk);
      chunk = new ArrayList<>(CHUNK);
    }
  }

  /** Copies a row: Spark uses one object for all of them. */
  private InternalRow copy(InternalRow row) {
    Object[] values = new Object[columns.length];
    for (int i = 0; i < columns.length; i++) {
      values[i] = row.isNullAt(i) ? null : InternalRow.copyValue(row.get(i, columns[i].dataType()));
    }
    return new GenericInternalRow(values);
  }

  private void send(List<InternalRow> rows) throws IOException {
    try {
      while (!queue.offer(rows, 100, TimeUnit.MILLISECONDS)) {
        if (!thread.isAlive()) {
          throw failed();
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("the task was interrupted", e);
    }
  }

  @Override
  public WriterCommitMessage commit() throws IOException {
    send(chunk);
    send(END);
    join();
    if (failure != null) {
      throw failed();
    }
    return python.commit();
  }

  private IOException failed() {
    return failure == null ? new IOException("the Python writer has ended early") : new IOException(failure);
  }

  private void join() throws IOException {
    try {
      thread.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("the task was interrupted", e);
    }
  }

  @Override
  public void abort() throws IOException {
    queue.clear();
    queue.offer(ABORTED); // there is room: only this thread adds to the queue
    thread.interrupt();
    python.abort();
  }

  @Override
  public void close() throws IOException {
    python.close();
  }
}
