package io.indextables.spark;

import com.fasterxml.jackson.databind.JsonNode;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;

/**
 * A partition of Spark's own Python source, and the host that has the indexes of its splits in its cache. Python assigns
 * the splits to hosts. It is a hint: if the host is busy for longer than spark.locality.wait, another one runs the task.
 */
final class LocatedPartition implements InputPartition { // not a record: Spark's Kryo cannot deserialize records
  private static final long serialVersionUID = 1L;

  private final InputPartition python;
  private final String host;

  private LocatedPartition(InputPartition python, String host) {
    this.python = python;
    this.host = host;
  }

  @Override
  public String[] preferredLocations() {
    return new String[] {host};
  }

  /** Adds the hosts of a plan, in the order of its tasks. A host is null if the task may run anywhere. */
  static InputPartition[] of(InputPartition[] partitions, JsonNode hosts) {
    if (hosts.size() != partitions.length) {
      return partitions;
    }
    InputPartition[] located = new InputPartition[partitions.length];
    for (int i = 0; i < located.length; i++) {
      located[i] =
          hosts.get(i).isNull() ? partitions[i] : new LocatedPartition(partitions[i], hosts.get(i).asText());
    }
    return located;
  }

  /** Reads partitions with and without a host. */
  record Factory(PartitionReaderFactory python) implements PartitionReaderFactory {
    private static final long serialVersionUID = 1L;

    @Override
    public PartitionReader<InternalRow> createReader(InputPartition partition) {
      return python.createReader(partition instanceof LocatedPartition located ? located.python : partition);
    }
  }
}
