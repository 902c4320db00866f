"""SomeLayer as the feed-forward block of a Transformer written in PyTorch: three changed lines. About 10
seconds."""

import torch
from torch import nn

import somelab

WIDTH, HEADS, LAYERS, STEPS = 64, 4, 2, 60


class Block(nn.Module):
    def __init__(self, layer: int) -> None:
        super().__init__()
        self.attention_norm, self.feed_forward_norm = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attention = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)
        self.feed_forward = somelab.SomeLayer(WIDTH, layer=layer, num_layers=LAYERS)  # 1: in place of the MLP

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        normed = self.attention_norm(x)
        causal = nn.Transformer.generate_square_subsequent_mask(x.shape[1])
        x = x + self.attention(normed, normed, normed, attn_mask=causal, need_weights=False)[0]
        return x + self.feed_forward(self.feed_forward_norm(x))


class Model(nn.Module):
    def __init__(self, vocab_size: int) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(vocab_size, WIDTH), nn.Embedding(64, WIDTH)
        self.blocks = nn.Sequential(*(Block(layer) for layer in range(LAYERS)))
        self.head = nn.Linear(WIDTH, vocab_size)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.tokens(tokens) + self.places(torch.arange(tokens.shape[1]))
        return self.head(self.blocks(x))


torch.manual_seed(0)
text = "she sells sea shells by the sea shore. the shells she sells are sea shells, I am sure. " * 20
letters = sorted(set(text))
data = torch.tensor([letters.index(letter) for letter in text])
model = Model(len(letters))
trained = [weight for weight in model.parameters() if weight.requires_grad]  # 2: experts are frozen
optimizer = torch.optim.AdamW(trained, lr=3e-3)
attachment = somelab.attach(model, optimizer, num_steps=STEPS)  # 3: keys move after each step

for step in range(STEPS):
    start = torch.randint(len(data) - 65, (16, 1))
    window = data[start + torch.arange(65)]
    loss = nn.functional.cross_entropy(model(window[:, :-1]).flatten(0, 1), window[:, 1:].flatten())
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    if step % 20 == 0 or step == STEPS - 1:
        drift = [report.mean_drift for report in attachment.reports if report is not None]
        print(
            f"step {step:3}: loss {loss.item():.3f}, keys moved by {', '.join(f'{one:.3f}' for one in drift)}"
        )
