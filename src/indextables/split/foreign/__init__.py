"""Splits of other writers, whose rows are stored documents."""
