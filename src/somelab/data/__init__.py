"""What a model reads: the built-in corpus, own text, tokenizer, packing and padding, the resumable loader."""
