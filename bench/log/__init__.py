"""Commits and opening a table, compared with deltalake."""
