package io.indextables.spark;

/** The format under its short name in IndexTables for Scala 0.3. */
public final class Tantivy4SparkProvider extends IndexTablesProvider {
  static final String NAME = "tantivy4spark";

  @Override
  public String shortName() {
    return NAME;
  }
}
