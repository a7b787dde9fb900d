package io.indextables.spark;

import org.apache.spark.sql.connector.catalog.MetadataColumn;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

/** What the index computes for a row. They are seen by name only, never by {@code SELECT *}. */
final class MetadataColumns {
  static final String SCORE = "_score";
  /** Stands for every column in {@code * TEXTSEARCH 'q'}; has no value of its own. */
  static final String ALL = "_indexall";

  private MetadataColumns() {}

  /** Column groups have no index, and so none of these. */
  static MetadataColumn[] of(TableRef table) {
    return table.columns() == null ? all() : new MetadataColumn[0];
  }

  private static MetadataColumn[] all() {
    return new MetadataColumn[] {
      new Computed(SCORE, DataTypes.DoubleType, "relevance of the row for the searches of the query"),
      new Computed("_snippet", DataTypes.StringType, "the piece of text that was found, with the words marked"),
      new Computed(ALL, DataTypes.StringType, "every searchable column, as the operand of a search"),
    };
  }

  private record Computed(String name, DataType dataType, String comment) implements MetadataColumn {
    @Override
    public boolean isNullable() {
      return true;
    }
  }
}
