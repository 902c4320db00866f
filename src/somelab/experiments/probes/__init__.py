"""Measurements on a finished run beside its loss, and their figures."""
