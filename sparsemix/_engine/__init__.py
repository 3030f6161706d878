"""The fit loop and its parts: data in blocks, learning schedules, initialisation, monitor, threads."""
