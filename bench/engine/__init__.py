"""The engine: indexing and searching against bare Tantivy, an earlier commit, Lance and DuckDB."""
