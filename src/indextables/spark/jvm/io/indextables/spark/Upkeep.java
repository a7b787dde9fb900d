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
  private static final Map<String, Needs> AT_WORK = new HashMap<>();

  /**
   * What writes to a table have asked for. Each part has the session and settings of the last write that asked for it: a purge
   * by the settings of another write could delete what that write is to keep.
   *
   * @param merge null: no merge
   * @param purge null: no purge, except after a merge
   */
  private record Needs(Step merge, Step purge) {
    /** Returns the needs of both; this is the later one. */
    Needs after(Needs waiting) {
      return waiting == null
          ? this
          : new Needs(merge == null ? waiting.merge : merge, purge == null ? waiting.purge : purge);
    }

    /** Runs in a thread that has inherited properties of the query that wrote, which its jobs are no part of. */
    void runAlone() {
      for (Step step : new Step[] {merge, purge}) {
        if (step != null) {
          step.enterSession();
        }
      }
      run();
    }

    void run() {
      boolean merged = false;
      if (merge != null) {
        merge.activate();
        merged = merge.upkeep.mergeDue();
      }
      if (purge != null) {
        purge.activate();
        purge.upkeep.purgeDue(purge.session.sparkContext(), false);
      } else if (merged && merge.upkeep.due.get("purge_after_merge").asBoolean()) {
        merge.upkeep.purgeDue(merge.session.sparkContext(), true);
      }
    }
  }

  /** The upkeep of one write, and its session. */
  private record Step(Upkeep upkeep, SparkSession session) {
    void activate() {
      SparkSession.setActiveSession(session);
    }

    void enterSession() {
      SparkContext context = session.sparkContext();
      context.setLocalProperty(EXECUTION, null);
      context.clearJobGroup();
      context.clearJobTags();
      context.setJobDescription("upkeep of " + upkeep.table.name());
    }
  }

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
      Step step = new Step(this, session);
      Needs needs = new Needs(merges ? step : null, purges ? step : null);
      if (due.get("asynchronous").asBoolean()) {
        start(table.path(), needs);
      } else {
        needs.run();
      }
    } catch (Throwable e) { // there may be no thread left; the write is committed, and has not failed
      LOG.warn("Automatic upkeep of {} did not start: {}", table.name(), e.getMessage());
    }
  }

  private static void start(String path, Needs needs) {
    synchronized (AT_WORK) {
      if (AT_WORK.containsKey(path)) {
        AT_WORK.put(path, needs.after(AT_WORK.get(path)));
        return;
      }
      AT_WORK.put(path, null);
    }
    boolean started = false;
    try {
      Thread thread = new Thread(() -> runAll(path, needs), "indextables upkeep of " + path);
      thread.setDaemon(true);
      thread.start();
      started = true;
    } finally {
      if (!started) {
        next(path);
      }
    }
  }

  private static void runAll(String path, Needs needs) {
    for (Needs next = needs; next != null; next = next(path)) {
      try {
        next.runAlone();
      } catch (Throwable e) { // the session has ended, perhaps
        LOG.warn("Automatic upkeep of {} failed: {}", path, e.getMessage());
      }
    }
  }

  /** Returns what follows for a table, whose thread goes on then; null: the thread ends. */
  private static Needs next(String path) {
    synchronized (AT_WORK) {
      Needs next = AT_WORK.remove(path);
      if (next != null) {
        AT_WORK.put(path, null);
      }
      return next;
    }
  }

  /** Merges what is due. Returns true if something was merged. The write is committed, and has not failed. */
  private boolean mergeDue() {
    try {
      return merge();
    } catch (Throwable e) {
      LOG.warn("Automatic merge of {} failed: {}", table.name(), e.getMessage());
      return false;
    }
  }

  private void purgeDue(SparkContext context, boolean afterMerge) {
    try {
      purge(context, afterMerge);
    } catch (Throwable e) {
      LOG.warn("Automatic purge of {} failed: {}", table.name(), e.getMessage());
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
        try {
          if (merge(step, answer) == 0) {
            break; // other commits have removed the splits, or none can be read
          }
        } catch (Throwable e) {
          if (!merged) {
            throw e;
          }
          // What the rounds before left fails again. What they merged is committed, and a purge may follow.
          LOG.warn("The rest of {} is not merged: {}", table.name(), e.getMessage());
          break;
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
