"""Measurements against other ways of doing the same, in one run on one machine: `make bench`."""
