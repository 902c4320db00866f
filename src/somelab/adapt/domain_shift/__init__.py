"""The gain of adaptation on text of another kind, compared with noise, fine-tuning and caches."""
