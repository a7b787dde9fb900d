"""The query language: from text to a tree, to columns and words, to a Tantivy query."""
