"""A simulation of the log: production code, a simulated store, and every choice from one seed (see `scenario`)."""
