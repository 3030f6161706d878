"""Files of every kind as streams of documents."""
