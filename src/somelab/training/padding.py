"""Padding outside the loss: each padding token becomes its own document, so that attention costs nothing for
it. Its output is never used and no other token attends to it, so results do not change.

Shape letters: B sequences, T tokens."""

from __future__ import annotations

import torch
from torch import Tensor

from somelab.data.batch import Batch
from somelab.data.tokenizer import PAD_ID


def attended_documents(batch: Batch, *, padding_in_loss: bool) -> Tensor | None:
    """Which document each token belongs to, as `Decoder.forward` takes it; None if every row is one.

    Padded rows stay plain in a compiled graph and on other devices than a CPU: there documents would need a
    dense mask, which costs more than the padding."""
    documents_BT = batch.documents_BT
    masked = batch.tokens_BT.device.type != "cpu" or torch.compiler.is_compiling()
    if padding_in_loss or (documents_BT is None and masked):
        return documents_BT
    is_padding_BT = batch.tokens_BT == PAD_ID
    if documents_BT is None:
        if not bool(is_padding_BT.any()):
            return None
        documents_BT = torch.zeros_like(batch.tokens_BT)
    # Ids of documents count up from 0.
    alone_T = -1 - torch.arange(documents_BT.shape[1], device=documents_BT.device)
    return torch.where(is_padding_BT, alone_T, documents_BT)
