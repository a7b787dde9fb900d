"""Stores that fail, generators, invariants and processes that the tests of all packages use."""
