"""Tuning: the best value of a setting for one arm, searched on text and random seeds that judge nothing."""
