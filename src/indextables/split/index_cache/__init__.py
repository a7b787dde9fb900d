"""Indexes on local disk: extracted from splits, checked, and kept within a bounded size."""
