"""Data: the built-in corpus, users' text, tokenizer, packing and padding, the resumable loader."""
