package io.indextables.spark;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.UUID;
import org.apache.spark.JobExecutionStatus;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.SparkSession;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Merges and purges that a write starts after its commit. A thread of the driver runs their tasks as Spark jobs, one thread
 * for each table. Python decides what is due. The write does not wait, and does not fail if they do.
 *
 * @param table the table that is written to
 * @param due what may be due after the write, as Python has planned it; null for a format without upkeep, and where
 *     nothing was committed
 */
record Upkeep(TableRef table, JsonNode due) {
  private static final Logger LOG = LoggerFactory.getLogger(Upkeep.class);
  private static final String EXECUTION = "spark.sql.execution.id";

  /** The tables that a thread is at work for, and what follows on it; null: nothing. */
  private static final Map<String, Runnable> AT_WORK = new HashMap<>();

  /** Starts what is due after the commit of a write with so many tasks. */
  void afterCommit(int tasks) {
    if (due == null) {
      return;
    }
    boolean merges = due.hasNonNull("merge_tasks") && tasks >= due.get("merge_tasks").asInt();
    boolean purges = due.get("purge").asBoolean();
    if (!merges && !purges) {
      return;
    }
    try {
      SparkSession session = SparkSession.active();
      if (due.get("asynchronous").asBoolean()) {
        start(table.path(), () -> runAlone(session, merges, purges));
      } else {
        run(session, merges, purges);
      }
    } catch (Throwable e) { // there may be no thread left; the write is committed, and has not failed
      LOG.warn("Automatic upkeep of {} did not start: {}", table.name(), e.getMessage());
    }
  }

  private static void start(String path, Runnable work) {
    synchronized (AT_WORK) {
      if (AT_WORK.containsKey(path)) {
        AT_WORK.put(path, work); // in place of other work that would follow
        return;
      }
      AT_WORK.put(path, null);
    }
    boolean started = false;
    try {
      Thread thread = new Thread(() -> runAll(path, work), "indextables upkeep of " + path);
      thread.setDaemon(true);
      thread.start();
      started = true;
    } finally {
      if (!started) {
        next(path);
      }
    }
  }

  private static void runAll(String path, Runnable work) {
    for (Runnable next = work; next != null; next = next(path)) {
      try {
        next.run();
      } catch (Throwable e) { // the session has ended, perhaps
        LOG.warn("Automatic upkeep of {} failed: {}", path, e.getMessage());
      }
    }
  }

  /** Returns what follows for a table, whose thread goes on then; null: the thread ends. */
  private static Runnable next(String path) {
    synchronized (AT_WORK) {
      Runnable next = AT_WORK.remove(path);
      if (next != null) {
        AT_WORK.put(path, null);
      }
      return next;
    }
  }

  /** Runs in a thread that has inherited properties of the query that wrote, which its jobs are no part of. */
  private void runAlone(SparkSession session, boolean merges, boolean purges) {
    SparkSession.setActiveSession(session);
    SparkContext context = session.sparkContext();
    context.setLocalProperty(EXECUTION, null);
    context.clearJobGroup();
    context.clearJobTags();
    context.setJobDescription("upkeep of " + table.name());
    run(session, merges, purges);
  }

  private void run(SparkSession session, boolean merges, boolean purges) {
    try {
      boolean merged = merges && merge();
      if (purges || merged && due.get("purge_after_merge").asBoolean()) {
        purge(session.sparkContext(), !purges);
      }
    } catch (Throwable e) { // the write is committed, and has not failed
      LOG.warn("Automatic upkeep of {} failed: {}", table.name(), e.getMessage());
    }
  }

  /** Merges until nothing is due. Returns true if something was merged. */
  private boolean merge() {
    Request step = step("merge");
    JsonNode answer = first(step);
    if (!answer.hasNonNull("job")) {
      return false;
    }
    boolean merged = false;
    try {
      while (answer.hasNonNull("job")) {
        if (merge(step, answer) == 0) {
          break; // other commits have removed the splits, or none can be read
        }
        merged = true;
        answer = PythonBridge.ask(step).get();
      }
    } finally {
      PythonBridge.ask(step.with("step", "release"));
    }
    return merged;
  }

  /** Asks what is due. A failure is one of a job that has not begun. */
  private JsonNode first(Request step) {
    try {
      return PythonBridge.ask(step).get();
    } catch (Throwable e) {
      MergeJob.begin(table.path(), 0, 1).failed(e);
      throw e;
    }
  }

  /** Runs a merge, from its first batch on. Returns the number of splits that it has written. */
  private int merge(Request step, JsonNode first) {
    MergeJob job = MergeJob.begin(table.path(), first.get("groups").asInt(), first.get("batch").asInt());
    try {
      JsonNode answer = first;
      while (answer.hasNonNull("job")) {
        job.remaining(answer.get("groups").asInt());
        answer = TaskJob.finished(step, answer);
      }
      job.completed();
      LOG.info("Automatic merge of {}: {}", table.name(), answer.get("message").asText());
      return answer.get("merged").asInt();
    } catch (Throwable e) {
      job.failed(e);
      throw e;
    }
  }

  private void purge(SparkContext context, boolean afterMerge) {
    Request purge = step("purge").with("after_merge", Json.truth(afterMerge));
    OptionalLong since = runningSince(context);
    Request step = since.isPresent() ? purge.with("running_since", since.getAsLong()) : purge;
    JsonNode answer = PythonBridge.ask(step).get();
    while (answer.hasNonNull("job")) {
      answer = TaskJob.finished(step, answer);
    }
  }

  private Request step(String name) {
    return Request.of("upkeep", table).with("step", name).with("claim", UUID.randomUUID().toString());
  }

  /** Returns when the oldest job that runs now began, in milliseconds since 1970. */
  private static OptionalLong runningSince(SparkContext context) {
    return CollectionConverters.asJava(context.statusStore().jobsList(List.of(JobExecutionStatus.RUNNING))).stream()
        .filter(job -> job.submissionTime().isDefined())
        .mapToLong(job -> job.submissionTime().get().getTime())
        .min();
  }
}
