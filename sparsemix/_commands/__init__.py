"""What the command line does: the demonstration, and topics of one's own texts with their report."""
