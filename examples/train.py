"""Train a small language model on the built-in text, then use it and look inside. About 20 seconds on a
laptop."""

import somelab

lm = somelab.train(
    "some",
    scale="micro",
    steps=150,
    settings={"train.learning_rate": 0.01, "data.train_subset_size": 2000, "data.val_subset_size": 50},
)
print(lm.generate("Once upon a time", max_new_tokens=40))

measured = lm.evaluate()
print(f"validation loss {measured.val_loss:.3f} nats per token, {measured.bits_per_byte:.3f} bits per byte")

for number, layer in enumerate(lm.layers):
    used = int((layer.keystore.usage_E > 0.1).sum())
    print(f"layer {number}: {used} of {len(layer.keys)} experts in use, keys {tuple(layer.keys.shape)}")

print(f"the run is in {lm.path}; `somelab report {lm.path}` draws it")
