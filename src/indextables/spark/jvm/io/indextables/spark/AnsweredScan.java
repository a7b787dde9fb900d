package io.indextables.spark;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.ipc.ArrowStreamReader;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.LocalScan;
import org.apache.spark.sql.connector.read.Statistics;
import org.apache.spark.sql.connector.read.SupportsReportStatistics;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.ArrowUtils;
import org.apache.spark.sql.vectorized.ArrowColumnVector;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/** A scan that the driver has answered: Python sent its few rows instead of a plan. Spark runs no task for it. */
final class AnsweredScan implements LocalScan, SupportsReportStatistics {
  private static final String ANSWER = "answer";

  private final ScanRequest scan;
  private final InternalRow[] rows;
  private final Statistics statistics;
  private final String description;

  AnsweredScan(ScanRequest scan, JsonNode plan) {
    this.scan = scan;
    this.rows = decoded(plan);
    this.statistics = PlanStatistics.of(plan);
    this.description = scan.description(plan) + ", answered while planning";
  }

  static boolean isIn(JsonNode plan) {
    return plan.has(ANSWER);
  }

  @Override
  public InternalRow[] rows() {
    return rows;
  }

  @Override
  public StructType readSchema() {
    return scan.schema();
  }

  @Override
  public Statistics estimateStatistics() {
    return statistics;
  }

  @Override
  public String description() {
    return description;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof AnsweredScan that && that.scan.equals(scan);
  }

  @Override
  public int hashCode() {
    return scan.hashCode();
  }

  private static InternalRow[] decoded(JsonNode plan) {
    List<InternalRow> rows = new ArrayList<>();
    try (BufferAllocator allocator =
            ArrowUtils.rootAllocator().newChildAllocator("indextables answer", 0, Long.MAX_VALUE);
        ArrowStreamReader reader =
            new ArrowStreamReader(new ByteArrayInputStream(plan.get(ANSWER).binaryValue()), allocator)) {
      VectorSchemaRoot root = reader.getVectorSchemaRoot();
      ColumnVector[] columns =
          root.getFieldVectors().stream().map(ArrowColumnVector::new).toArray(ColumnVector[]::new);
      while (reader.loadNextBatch()) {
        new ColumnarBatch(columns, root.getRowCount()).rowIterator().forEachRemaining(row -> rows.add(row.copy()));
      }
    } catch (IOException e) {
      throw new UncheckedIOException("cannot read the rows that Python sent", e);
    }
    return rows.toArray(InternalRow[]::new);
  }
}
