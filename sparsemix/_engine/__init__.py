"""The fit loop and its parts: learning schedules, initialisation, monitor, protocols."""
