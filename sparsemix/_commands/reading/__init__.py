"""Reading a corpus in the forms that people have it, and saying what could not be read."""
