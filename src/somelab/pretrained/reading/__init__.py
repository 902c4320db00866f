"""A pretrained model reads new text in chunks, each scored before anything learns from it."""
