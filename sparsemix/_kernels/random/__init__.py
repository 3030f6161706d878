"""Random numbers from counters, and tables to draw from discrete distributions."""
