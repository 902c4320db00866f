"""Evaluation that others use, too: tasks of the lm-evaluation-harness, two of which ship with somelab."""
