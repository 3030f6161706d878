"""Labels of some rows."""
