"""The Tantivy index of a split: its fields, its words, building it, and the errors of the engine."""
