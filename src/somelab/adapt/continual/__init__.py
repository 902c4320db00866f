"""Continual learning: experiences one after another, learners that may or may not use gradients, and what each remembers.
Everything is measured in nats per token, where lower is better."""
