"""The log under simulation: real code, a simulated store, and every choice from one seed (see `scenario`)."""
