"""Searching one open split: planning a predicate, rows, scores and snippets, and words that the index lacks."""
