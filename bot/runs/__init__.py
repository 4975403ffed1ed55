"""Who works on which thread, and what one thread's work is."""
