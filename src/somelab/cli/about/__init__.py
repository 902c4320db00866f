"""Verbs about settings and this machine."""
