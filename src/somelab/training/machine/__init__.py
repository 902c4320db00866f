"""Process and machine: memory, precision, ranks, and their description."""
