"""Jobs, the processes that run them, and how long they take."""
