package io.indextables.spark;

import java.util.List;
import org.apache.spark.sql.connector.catalog.MetadataColumn;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

/** The columns that the index computes. A query gets them by name only, never by {@code SELECT *}. */
final class MetadataColumns {
  static final String SCORE = "_score";
  /** Stands for every column in {@code * TEXTSEARCH 'q'}; has no value of its own. */
  static final String ALL = "_indexall";

  /** The path of a row's split and the row's position in it. They order rows of equal score. */
  static final List<String> ROW_KEY = List.of("__split_path", "__split_position");

  /** The path of a row's split and the row's number in it. They name the row in one version of the table. */
  static final List<String> ROW_ID = List.of("__split_path", "__row_number");

  private MetadataColumns() {}

  /** Returns whether the index computes columns of these names, and they are not columns of another format's table. */
  static boolean isComputedBy(Table table) {
    return table instanceof SearchedTable searched && searched.metadataColumns().length > 0;
  }

  /** Datasets of column groups have no index, and so none of these columns. */
  static MetadataColumn[] of(TableRef table) {
    return table.columns() == null ? all() : new MetadataColumn[0];
  }

  private static MetadataColumn[] all() {
    return new MetadataColumn[] {
      new Computed(SCORE, DataTypes.DoubleType, "relevance of the row for the searches of the query"),
      new Computed("_snippet", DataTypes.StringType, "the piece of text that was found, with the words marked"),
      new Computed(ALL, DataTypes.StringType, "every searchable column, as the operand of a search"),
      new Computed(ROW_KEY.get(0), DataTypes.StringType, "path of the row's split in the table"),
      new Computed(ROW_KEY.get(1), DataTypes.LongType, "orders the rows of a split that have the same score"),
      new Computed(ROW_ID.get(1), DataTypes.LongType, "number of the row in its split"),
    };
  }

  private record Computed(String name, DataType dataType, String comment) implements MetadataColumn {
    @Override
    public boolean isNullable() {
      return !ROW_ID.contains(name); // Spark takes no other columns as the identity of a row
    }
  }
}
