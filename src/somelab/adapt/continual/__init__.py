"""Continual learning: experiences one after another, learners with and without gradients, and their
forgetting. Everything is measured in nats per token, where lower is better."""
