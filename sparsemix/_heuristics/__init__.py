"""Decisions that no formula prescribes: where a fit starts, which components it replaces, and the prior of clusters."""
