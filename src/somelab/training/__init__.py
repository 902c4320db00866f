"""Training: the loop, its optimizer and schedule, checkpoints, evaluation; what is optional is a callback."""
