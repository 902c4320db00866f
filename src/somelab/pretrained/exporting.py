"""A carved model as a folder of Hugging Face: weights, tokenizer, code, and a card with the measurements."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from somelab.interop.huggingface.exporting import write_model_folder
from somelab.pretrained.carving import Carving


def export(carving: Carving, tokenizer: Any, folder: Path, name: str, table: str) -> Path:
    """Write everything into a new or empty folder. It appears whole, or not at all."""
    used = carving.model.config.groups_in_use or []
    card = CARD.format(
        name=name,
        num_groups=carving.settings.num_groups,
        use=carving.settings.use,
        used=", ".join(map(str, used)),
        rank=carving.rank,
        table=table or "not measured",
    )
    return write_model_folder(folder, carving.model, tokenizer, card)


CARD = """---
library_name: transformers
tags: [mixture-of-experts, somelab]
---
# {name}, carved by somelab
Each feed-forward block is cut into {num_groups} groups of neurons. Keys, set without a gradient, choose the
groups of each token; all layers together read {use:.0%} of the feed-forward weights. Groups in use, layer by
layer: {used}. A linear map of rank {rank} stands for what is skipped. All other weights are those of {name}.

```python
import somelab  # or pass trust_remote_code=True
from transformers import pipeline

text = pipeline("text-generation", model=".")
print(text("Once upon a time", max_new_tokens=40)[0]["generated_text"])
```

Loss on held-out text (nats per token):

{table}
"""
