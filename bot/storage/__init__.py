"""What must not be forgotten: threads, inbox, journal, deliveries."""
