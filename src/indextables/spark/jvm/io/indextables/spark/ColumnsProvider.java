package io.indextables.spark;

import java.util.HashMap;
import java.util.Map;

/** The format "indextables.columns": datasets of column groups. Python describes and plans them, as it does tables. */
public final class ColumnsProvider extends IndexTablesProvider {
  static final String NAME = "indextables.columns";

  @Override
  public String shortName() {
    return NAME;
  }

  @Override
  protected Map<String, String> marked(Map<String, String> options) {
    Map<String, String> all = new HashMap<>(options);
    all.put(TableRef.COLUMNS, "true");
    return all;
  }
}
