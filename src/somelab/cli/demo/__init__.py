"""The verb `demo`: two models, what they learned, and a page."""
