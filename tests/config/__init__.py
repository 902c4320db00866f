"""Tests of the configuration: tree, files, presets, scales."""
