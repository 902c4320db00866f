"""somelab as a library: the layer, grafting it into any model, moving its keys in any training loop,
training, loading. `import somelab` offers all of it by name; see `somelab/__init__.py`."""
