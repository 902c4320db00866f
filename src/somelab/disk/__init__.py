"""Atomic files and folders (complete or absent), and folders that are built once for all runs."""
