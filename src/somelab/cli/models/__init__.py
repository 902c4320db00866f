"""Verbs that make and use models."""
