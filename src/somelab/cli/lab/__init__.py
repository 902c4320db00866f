"""Verbs that run experiments."""
