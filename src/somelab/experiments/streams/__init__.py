"""Continual studies: a stream of texts as a plan, whose arms are learners."""
