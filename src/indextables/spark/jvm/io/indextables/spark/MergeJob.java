package io.indextables.spark;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.UUID;

/** An automatic merge of this driver, running or ended, for DESCRIBE INDEXTABLES MERGE JOBS. */
final class MergeJob {
  private static final int MOST = 100;
  private static final int LONGEST_REASON = 1000;
  private static final Deque<MergeJob> JOBS = new ArrayDeque<>();

  private final String id = UUID.randomUUID().toString();
  private final String path;
  private final long started = System.currentTimeMillis();
  private final int groups;
  private final int batch;
  private int done;
  private Long ended;
  private String failure;

  private MergeJob(String path, int groups, int batch) {
    this.path = path;
    this.groups = groups;
    this.batch = batch;
  }

  /** Records a job that merges so many groups, and commits them in batches. */
  static MergeJob begin(String path, int groups, int batch) {
    MergeJob job = new MergeJob(path, groups, batch);
    synchronized (JOBS) {
      JOBS.addLast(job);
      if (JOBS.size() > MOST) {
        JOBS.removeFirst();
      }
    }
    return job;
  }

  /** Returns all jobs as JSON. */
  static List<String> asJson() {
    synchronized (JOBS) {
      return JOBS.stream().map(MergeJob::json).toList();
    }
  }

  void remaining(int number) {
    synchronized (JOBS) {
      done = groups - number;
    }
  }

  void completed() {
    synchronized (JOBS) {
      done = groups;
      ended = System.currentTimeMillis();
    }
  }

  void failed(Throwable reason) {
    String text = String.valueOf(reason.getMessage());
    synchronized (JOBS) {
      failure = text.substring(0, Math.min(text.length(), LONGEST_REASON));
      ended = System.currentTimeMillis();
    }
  }

  private String json() {
    ObjectNode job =
        Json.object()
            .put("job_id", id)
            .put("table_path", path)
            .put("started_ms", started)
            .put("batch_size", batch)
            .put("total_groups", groups)
            .put("completed_groups", done)
            .put("status", ended == null ? "RUNNING" : failure == null ? "COMPLETED" : "FAILED")
            .put("ended_ms", ended)
            .put("error_message", failure);
    return job.toString();
  }
}
