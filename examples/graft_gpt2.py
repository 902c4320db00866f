"""SoME layers in the feed-forward places of a GPT-2 of Hugging Face, trained and used through its own
interface.

Here the model is small and its weights are random; `GPT2LMHeadModel.from_pretrained("gpt2")` works the same
way."""

import torch
from transformers import GPT2Config, GPT2LMHeadModel

import somelab

STEPS = 40
torch.manual_seed(0)
model = GPT2LMHeadModel(GPT2Config(vocab_size=64, n_positions=32, n_embd=48, n_layer=3, n_head=4))
before = sum(weight.numel() for weight in model.parameters() if weight.requires_grad)
layers = somelab.graft(model, "transformer.h.*.mlp", experts={"num_experts": 32})
after = sum(weight.numel() for weight in model.parameters() if weight.requires_grad)
print(f"trained weights: {before:,} before, {after:,} with {len(layers)} SoME layers")

optimizer = torch.optim.AdamW([weight for weight in model.parameters() if weight.requires_grad], lr=3e-3)
somelab.attach(model, optimizer, num_steps=STEPS)
tokens = torch.randint(64, (8, 32))
for step in range(STEPS):
    loss = model(input_ids=tokens, labels=tokens).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    if step % 10 == 0 or step == STEPS - 1:
        print(f"step {step:3}: loss {loss.item():.3f}")

continued = model.generate(tokens[:1, :8], max_new_tokens=8, do_sample=False, pad_token_id=0)
print(f"continuation {continued[0, 8:].tolist()}, in the text {tokens[0, 8:16].tolist()}")
