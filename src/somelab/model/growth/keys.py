"""Keys of grown experts: where the contexts are that each was trained on. They are means of what was read,
set and moved without a gradient; a context is compared with them by the evidence of its tokens.

Shape letters: B sequences, T tokens, E experts (0 is the base), V vocabulary, H buckets of hashed pairs."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from somelab.core.seeding import derive, hashed
from somelab.model.growth.settings import GrowthSettings
from somelab.model.positions import positions_within

_HASH = derive(0, "pairs of tokens")


class ContextKey(nn.Module):
    """The key of one expert: how often each token, each pair of tokens (hashed) and each first token of a
    document was in the text that the expert was trained on. Divided by the number of tokens it is the mean
    of the contexts, so that the sum over new text is the rule of attraction with rate n / (n + u)."""

    tokens_V: Tensor
    starts_V: Tensor
    pairs_H: Tensor

    def __init__(self, num_tokens: int, num_pairs: int) -> None:
        super().__init__()
        self.register_buffer("tokens_V", torch.zeros(num_tokens))
        self.register_buffer("starts_V", torch.zeros(num_tokens))
        self.register_buffer("pairs_H", torch.zeros(num_pairs))

    @torch.no_grad()
    def attract_(self, reading: Reading, weight_BT: Tensor) -> None:
        """Add the tokens of a batch, each with a weight: 1 where the expert was selected, 0 elsewhere."""
        weight_N = weight_BT.reshape(-1).float()
        begins_N = reading.begins_BT.reshape(-1)
        tokens_N = reading.tokens_BT.reshape(-1)
        self.tokens_V.index_add_(0, tokens_N, weight_N)
        self.starts_V.index_add_(0, tokens_N, weight_N * begins_N)
        self.pairs_H.index_add_(0, reading.pairs_BT.reshape(-1), weight_N * ~begins_N)


class Reading:
    """Tokens with what keys compare: the token before each, and where documents begin."""

    def __init__(self, tokens_BT: Tensor, segments_BT: Tensor | None, num_pairs: int) -> None:
        self.tokens_BT = tokens_BT
        index_T = torch.arange(tokens_BT.shape[1], device=tokens_BT.device)
        positions_BT = index_T.expand_as(tokens_BT) if segments_BT is None else positions_within(segments_BT)
        self.begins_BT = positions_BT == 0
        self.first_BT = index_T - positions_BT
        """Index of the first token of each token's document."""
        self.before_BT = tokens_BT.roll(1, dims=1)
        self.before_BT[:, :1] = 0
        code_BT = (self.before_BT.to(torch.int64) << 32) + tokens_BT
        self.pairs_BT = hashed(_HASH, code_BT).remainder(num_pairs)


class ContextKeys(nn.Module):
    """The keys of all experts, and the gates that they give. Expert 0 is the base."""

    def __init__(self, num_tokens: int, settings: GrowthSettings) -> None:
        super().__init__()
        self.num_tokens, self.settings = num_tokens, settings
        self.keys = nn.ModuleList([ContextKey(num_tokens, settings.num_pairs)])
        self._tables: tuple[Tensor, ...] | None = None

    def __len__(self) -> int:
        return len(self.keys)

    def add_(self) -> None:
        """Another expert, whose key is at no place yet: it is not selected until it has read something."""
        self.keys.append(ContextKey(self.num_tokens, self.settings.num_pairs).to(self.device))
        self._tables = None

    def remove_(self, expert: int) -> None:
        del self.keys[expert]
        self._tables = None

    def attract_(self, expert: int, reading: Reading, weight_BT: Tensor) -> None:
        """Move a key towards contexts, by the weights of their tokens."""
        key = self.keys[expert]
        assert isinstance(key, ContextKey)
        key.attract_(reading, weight_BT)
        self._tables = None

    def changed_(self) -> None:
        """To be called after buffers of keys were set directly."""
        self._tables = None

    def read(self, tokens_BT: Tensor, segments_BT: Tensor | None) -> Reading:
        return Reading(tokens_BT, segments_BT, self.settings.num_pairs)

    @torch.no_grad()
    def evidence(self, reading: Reading) -> Tensor:
        """[B, T, E] fp64: log p_e of every token given the one before it, by the counts c of each key,

            p_e(w | v) = (c_e(v, w) + s p_e(w)) / (c_e(v) + s),  p_e(w) = (c_e(w) + 0.1) / (n_e + 0.1 V)

        with s the smoothing; at the beginning of a document c_e counts first tokens. A key without text gives
        -inf."""
        tokens_VE, single_VE, starts_VE, pairs_HE, mass_E = self._stacked()
        s = self.settings.smoothing
        single_BTE = s * single_VE[reading.tokens_BT]
        later = (pairs_HE[reading.pairs_BT] + single_BTE) / (tokens_VE[reading.before_BT] + s)
        first = (starts_VE[reading.tokens_BT] + single_BTE) / (starts_VE.sum(0) + s)
        found = torch.where(reading.begins_BT.unsqueeze(-1), first, later).log().double()
        return found.masked_fill(mass_E == 0, -torch.inf)

    @torch.no_grad()
    def gates(self, reading: Reading, among: list[int] | None = None) -> Tensor:
        """[B, T, E] fp32, the posterior of each expert given the document up to and with each token, all
        equally likely before:

            g_e(t) = softmax_e( sharpness * sum_{u <= t} log p_e(w_u | w_{u-1}) )

        `among`: only these experts are eligible."""
        evidence_BTE = self.evidence(reading) * self.settings.sharpness
        # Without the common part sums stay small; where no key has text, the base is selected.
        known_E = torch.isfinite(evidence_BTE[0, 0])
        if among is not None:
            chosen_E = torch.zeros_like(known_E)
            chosen_E[among] = True
            known_E = known_E & chosen_E if bool((known_E & chosen_E).any()) else chosen_E
        elif not bool(known_E.any()):
            known_E[0] = True
        evidence_BTE = torch.where(known_E, evidence_BTE.nan_to_num(neginf=0.0), 0.0)
        evidence_BTE = evidence_BTE - evidence_BTE.sum(-1, keepdim=True) / known_E.sum()
        sums_BTE = evidence_BTE.cumsum(dim=1)
        before_BTE = (sums_BTE - evidence_BTE).gather(1, reading.first_BT.unsqueeze(-1).expand_as(sums_BTE))
        gates_BTE = (sums_BTE - before_BTE).masked_fill(~known_E, -torch.inf).softmax(-1)
        # The largest gate always stays, also where many experts share a token.
        largest_BT1 = gates_BTE.amax(-1, keepdim=True)
        dropped_BTE = (gates_BTE < self.settings.smallest_gate) & (gates_BTE < largest_BT1)
        gates_BTE = torch.where(dropped_BTE, 0.0, gates_BTE)
        return (gates_BTE / gates_BTE.sum(-1, keepdim=True)).float()

    @torch.no_grad()
    def winners(self, reading: Reading, experts: list[int], nats_BT: Tensor | None = None) -> Tensor:
        """[B, T, E]: 1 for the expert that wins the document of a token: the one whose key gives the document
        the most evidence. Keys without text win in turn the documents of the highest loss per token, or the
        least evidence where no loss is given."""
        document_BT = reading.first_BT + reading.tokens_BT.shape[1] * torch.arange(
            len(reading.tokens_BT), device=self.device
        ).unsqueeze(1)
        ids_N, inverse_N = document_BT.flatten().unique(return_inverse=True)
        evidence_NE = self.evidence(reading).flatten(0, 1)[:, experts]
        known = torch.isfinite(evidence_NE[0])
        sums_CE = torch.zeros(len(ids_N), len(experts), dtype=torch.float64, device=self.device)
        sums_CE.index_add_(0, inverse_N, evidence_NE.nan_to_num(neginf=0.0))
        length_C = torch.bincount(inverse_N, minlength=len(ids_N))
        best_C = sums_CE.masked_fill(~known, -torch.inf).argmax(1)
        if not bool(known.all()):
            if nats_BT is None:
                fit_C = sums_CE.masked_fill(~known, -torch.inf).amax(1) / length_C
            else:
                fit_C = -torch.bincount(inverse_N, nats_BT.flatten().double(), len(ids_N)) / length_C
            worst = fit_C.argsort(stable=True).tolist()
            for expert in (~known).nonzero()[:, 0].tolist():
                if not worst:
                    break
                best_C[worst.pop(0)] = expert
        won_NE = torch.zeros(inverse_N.numel(), len(self), device=self.device)
        won_NE[torch.arange(len(won_NE)), torch.tensor(experts, device=self.device)[best_C[inverse_N]]] = 1
        return won_NE.view(*reading.tokens_BT.shape, -1)

    @property
    def device(self) -> torch.device:
        return self._base().tokens_V.device

    def _base(self) -> ContextKey:
        base = self.keys[0]
        assert isinstance(base, ContextKey)
        return base

    def _stacked(self) -> tuple[Tensor, ...]:
        """Counts and estimates of all keys side by side, made once after every change."""
        if self._tables is None or self._tables[0].device != self.device:
            tokens_VE, starts_VE, pairs_HE = (
                torch.stack([getattr(key, name) for key in self.keys], dim=1)
                for name in ("tokens_V", "starts_V", "pairs_H")
            )
            mass_E = tokens_VE.sum(0)
            single_VE = (tokens_VE + 0.1) / (mass_E + 0.1 * self.num_tokens)
            self._tables = tokens_VE, single_VE, starts_VE, pairs_HE, mass_E
        return self._tables
