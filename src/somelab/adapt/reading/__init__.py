"""Test-time adaptation of the keys, without gradients: what moves, how fast and how far."""
