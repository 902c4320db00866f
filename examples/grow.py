"""A model that was trained on stories learns arithmetic by an added expert, and forgets nothing. About 20
seconds on a laptop."""

import somelab

lm = somelab.train(
    "some",
    data="builtin:story",
    scale="micro",
    steps=60,
    settings={"train.learning_rate": 0.01, "data.train_subset_size": 1000, "data.val_subset_size": 50},
)
lm = lm.grow("builtin:arithmetic", name="arithmetic", steps=40)

assert lm.pool is not None
(generation,) = lm.pool.generations
losses = generation.losses
print(
    f"arithmetic: {losses['new_before']:.3f} -> {losses['new_after']:.3f}, "
    f"stories: {losses['old_before']:.3f} -> {losses['old_after']:.3f} nats per token"
)
print(f"{generation.num_parameters:,} parameters were added; the run's own weights have not changed")

for text in ("Tom has three apples and", "Once upon a time there was"):
    gates_TE = lm.pool.gates(lm.model.embedding.weight.new_tensor([lm.tokenizer.encode(text)]).long())[0]
    print(f"{text!r}: expert {lm.pool.names[int(gates_TE[-1].argmax())]}")
