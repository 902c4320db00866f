"""Rows and masks worked out by hand, and what must hold for any documents: ranks, resuming, counts, nothing
lost.

Shape letters: B sequences, T tokens."""

from __future__ import annotations

import json
import math
import threading
from collections import Counter
from itertools import islice, pairwise
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from somelab.data import rows as rows_module
from somelab.data.batch import Batch
from somelab.data.batches import EvaluationLoader, Loader
from somelab.data.prepare import PreparedData
from somelab.data.rows import document_order, pack_whole
from somelab.data.tokenizer import END_OF_TEXT_ID
from somelab.errors import ConfigError, SomelabError
from tests.data.builders import BY_HAND, byte_tokenizer, config_of, prepared_of, split_of

DOCUMENTS = st.lists(st.lists(st.integers(2, 257), min_size=1, max_size=14), min_size=1, max_size=12)


@pytest.fixture
def rolled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Epoch e begins with the e-th document from the end, so that the arrays can be written down."""
    monkeypatch.setattr(
        rows_module, "document_order", lambda number, seed, epoch: np.roll(np.arange(number), epoch)
    )


def take(loader: Loader, number: int) -> list[Batch]:
    return list(islice(loader, number))


def integers(tensor: Tensor | None) -> list[list[int]]:
    assert tensor is not None
    return tensor.long().tolist()


def same(left: Batch, right: Batch) -> bool:
    return vars(left).keys() == vars(right).keys() and all(
        torch.equal(value, vars(right)[name]) if isinstance(value, Tensor) else value == vars(right)[name]
        for name, value in vars(left).items()
    )


def pairs(batches: list[Batch]) -> Counter[tuple[int, int]]:
    """How often each (input, target) counts."""
    found: Counter[tuple[int, int]] = Counter()
    for batch in batches:
        counted = batch.counted_BT
        found.update(zip(batch.tokens_BT[counted].tolist(), batch.targets_BT[counted].tolist()))
    return found


def pairs_of_documents(documents: list[list[int]]) -> Counter[tuple[int, int]]:
    return Counter(pair for document in documents for pair in zip(document, (*document[1:], END_OF_TEXT_ID)))


@pytest.mark.usefixtures("rolled")
def test_packed_batches_by_hand() -> None:
    loader = Loader(prepared_of(BY_HAND), config_of(batch_size=2, seq_len=4))
    first, second = take(loader, 2)
    # The stream: 10 11 12 0 20 21 0 30 31 32 33 34 0, then the second epoch: 30 31 32 33 34 0 10 11 12 0 20
    # 21 0.
    assert integers(first.tokens_BT) == [[10, 11, 12, 0], [20, 21, 0, 30]]
    assert integers(first.targets_BT) == [[11, 12, 0, 20], [21, 0, 30, 31]]
    assert integers(first.counted_BT) == [[1, 1, 1, 0], [1, 1, 0, 1]]
    assert integers(first.documents_BT) == [[0, 0, 0, 0], [0, 0, 0, 1]]
    assert integers(first.token_index_BT) == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert integers(second.tokens_BT) == [[31, 32, 33, 34], [0, 30, 31, 32]]
    assert integers(second.targets_BT) == [[32, 33, 34, 0], [30, 31, 32, 33]]
    assert integers(second.counted_BT) == [[1, 1, 1, 1], [0, 1, 1, 1]]
    assert integers(second.documents_BT) == [[0, 0, 0, 0], [0, 1, 1, 1]]
    # Counted targets that are text, a byte each: 11 12 21 31, then 32 33 34 31 32 33.
    assert [(batch.num_counted, batch.num_bytes) for batch in (first, second)] == [(6, 4), (7, 6)]
    assert first.counted_with_padding_BT is None
    assert (loader.num_batches_per_epoch, loader.epoch, loader.num_truncated_tokens) == (1, 1, 0)


@pytest.mark.usefixtures("rolled")
def test_padded_batches_by_hand() -> None:
    loader = Loader(prepared_of(BY_HAND), config_of(batch_size=2, seq_len=4, layout="pad"))
    first, second = take(loader, 2)
    assert integers(first.tokens_BT) == [[10, 11, 12, 0], [20, 21, 0, 1]]
    assert integers(first.targets_BT) == [[11, 12, 0, 1], [21, 0, 1, 1]]
    assert integers(first.counted_BT) == [[1, 1, 1, 0], [1, 1, 0, 0]]
    assert integers(first.counted_with_padding_BT) == [[1, 1, 1, 1], [1, 1, 1, 1]]
    assert first.documents_BT is None
    # The last document of the first epoch, cut, and the first of the second, which is the same one.
    assert integers(second.tokens_BT) == [[30, 31, 32, 33]] * 2
    assert integers(second.targets_BT) == [[31, 32, 33, 34]] * 2
    assert [(batch.num_counted, batch.num_bytes) for batch in (first, second)] == [(5, 3), (8, 8)]
    assert (loader.num_batches_per_epoch, loader.epoch, loader.num_truncated_tokens) == (1, 1, 1)


@pytest.mark.usefixtures("rolled")
def test_padding_in_the_loss_counts_everything_but_leaves_meaning_and_bytes() -> None:
    config = config_of(batch_size=3, seq_len=4, layout="pad", padding_in_loss=True)
    (batch,) = take(Loader(prepared_of(BY_HAND), config), 1)
    assert batch.num_counted == batch.num_counted_global == 12
    assert integers(batch.meaning_BT) == [[1, 1, 1, 0], [1, 1, 0, 0], [1, 1, 1, 1]]
    assert batch.num_bytes == 2 + 1 + 4
    (measured,) = EvaluationLoader(prepared_of(BY_HAND), config)
    assert integers(measured.counted_BT) == integers(batch.meaning_BT)
    assert measured.counted_with_padding_BT is not None
    assert measured.counted_with_padding_BT.all()


def test_evaluation_packs_whole_documents_by_hand() -> None:
    (batch,) = EvaluationLoader(prepared_of(BY_HAND), config_of(seq_len=4))
    # The third document is too long: its last pair goes to the row that has room for it.
    assert integers(batch.tokens_BT) == [[10, 11, 12, 0], [20, 21, 0, 34], [30, 31, 32, 33]]
    assert integers(batch.targets_BT) == [[11, 12, 0, 1], [21, 0, 34, 0], [31, 32, 33, 34]]
    assert integers(batch.counted_BT) == [[1, 1, 1, 0], [1, 1, 0, 1], [1, 1, 1, 1]]
    assert integers(batch.documents_BT) == [[0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0]]
    assert (batch.num_counted, batch.num_bytes) == (10, 7)


def test_padding_behind_packed_documents_is_a_document_of_its_own() -> None:
    (batch,) = EvaluationLoader(prepared_of([[10, 11]]), config_of(seq_len=6))
    assert integers(batch.tokens_BT) == [[10, 11, 0, 1, 1, 1]]
    assert integers(batch.documents_BT) == [[0, 0, 0, 1, 1, 1]]
    assert integers(batch.counted_BT) == [[1, 1, 0, 0, 0, 0]]


@given(DOCUMENTS, st.integers(1, 9), st.integers(0, 3))
def test_packed_training_counts_each_pair_once_an_epoch(
    documents: list[list[int]], seq_len: int, seed: int
) -> None:
    prepared = prepared_of(documents)
    # As many sequences of T tokens as the epoch has tokens are exactly T epochs.
    config = config_of(batch_size=1, seq_len=min(seq_len, prepared.train.num_tokens), seed=seed)
    batches = take(Loader(prepared, config), prepared.train.num_tokens)
    expected = pairs_of_documents(documents)
    assert pairs(batches) == Counter(
        {pair: number * config.model.seq_len for pair, number in expected.items()}
    )


@given(DOCUMENTS, st.integers(1, 20), st.integers(1, 7), st.integers(1, 3), st.sampled_from(["pack", "pad"]))
def test_evaluation_does_not_depend_on_batch_size_or_ranks(
    documents: list[list[int]], seq_len: int, batch_size: int, world_size: int, layout: str
) -> None:
    prepared, config = prepared_of(documents), config_of(seq_len=seq_len, layout=layout)
    loaders = [
        EvaluationLoader(
            prepared, config, rank=rank, world_size=world_size, batch_size=batch_size * world_size
        )
        for rank in range(world_size)
    ]
    shares = [list(loader) for loader in loaders]
    assert {len(share) for share in shares} == {len(loader) for loader in loaders}
    kept = documents if layout == "pack" else [document[:seq_len] for document in documents]
    expected = pairs_of_documents(documents)
    if layout == "pad":
        expected = Counter(
            pair for d in documents for pair in list(zip(d, (*d[1:], END_OF_TEXT_ID)))[:seq_len]
        )
    batches = [batch for share in shares for batch in share]
    assert pairs(batches) == expected
    assert sum(batch.num_counted for batch in batches) == sum(map(len, kept))
    # A byte for each token; the end of a text has none.
    assert sum(batch.num_bytes for batch in batches) == sum(
        n for (_, target), n in expected.items() if target != END_OF_TEXT_ID
    )
    if layout == "pad":
        num_with_padding = sum(
            int(batch.counted_with_padding_BT.sum())
            for batch in batches
            if batch.counted_with_padding_BT is not None
        )
        assert num_with_padding == len(documents) * seq_len


@given(DOCUMENTS, st.integers(1, 20))
def test_evaluation_cuts_only_documents_that_do_not_fit(documents: list[list[int]], seq_len: int) -> None:
    split = split_of(documents)
    pieces = [piece for row in pack_whole(split, seq_len) for piece in row]
    for begin, end in zip(split.offsets[:-1].tolist(), split.offsets[1:].tolist()):
        own = sorted(piece for piece in pieces if begin <= piece[0] < end)
        assert len(own) == max(1, math.ceil((end - begin - 1) / seq_len))
        assert all(first + length - 1 == following for (first, length), (following, _) in pairwise(own))
        assert (own[0][0], sum(own[-1])) == (begin, end)


def test_evaluation_rows_are_full_and_stay_near_the_order_of_documents() -> None:
    lengths = [30 + 61 * number % 200 for number in range(600)]
    split = split_of([[5] * length for length in lengths])
    rows = pack_whole(split, 256)
    assert split.num_tokens / (len(rows) * 257) > 0.93
    first_tokens = [min(start for start, _ in row) for row in rows]
    assert first_tokens == sorted(first_tokens)


@given(DOCUMENTS, st.integers(1, 5), st.sampled_from([1, 2, 3, 6]), st.sampled_from(["pack", "pad"]))
def test_ranks_share_the_global_batch(
    documents: list[list[int]], seq_len: int, world_size: int, layout: str
) -> None:
    prepared, config = (
        prepared_of(documents * 6 * seq_len),
        config_of(batch_size=6, seq_len=seq_len, layout=layout),
    )
    whole = take(Loader(prepared, config), 3)
    shares = [
        take(Loader(prepared, config, rank=rank, world_size=world_size), 3) for rank in range(world_size)
    ]
    for batch, parts in zip(whole, zip(*shares)):
        for name in ("tokens_BT", "targets_BT", "counted_BT", "token_index_BT", "num_bytes_B"):
            assert torch.equal(vars(batch)[name], torch.cat([vars(part)[name] for part in parts]))
        assert (
            {part.num_counted_global for part in parts} == {batch.num_counted} == {batch.num_counted_global}
        )


@given(st.integers(0, 9), st.integers(1, 4), st.sampled_from(["pack", "pad"]))
def test_resuming_anywhere_gives_the_same_batches(position: int, seq_len: int, layout: str) -> None:
    prepared, config = prepared_of(BY_HAND), config_of(batch_size=3, seq_len=seq_len, layout=layout)
    loader = Loader(prepared, config)
    straight = take(loader, position + 4)
    before = Loader(prepared, config)
    assert all(map(same, take(before, position), straight))
    after = Loader(prepared, config)
    after.load_state_dict(json.loads(json.dumps(before.state_dict())))
    resumed = take(after, 4)
    assert len(resumed) == 4
    assert all(map(same, resumed, straight[position:]))
    assert after.state_dict() == loader.state_dict()


def test_state_counts_what_was_handed_out_not_what_was_made_ahead() -> None:
    loader = Loader(prepared_of(BY_HAND), config_of(batch_size=2, seq_len=4))
    batches = iter(loader)
    for number in range(1, 4):
        next(batches)
        assert loader.state_dict()["num_sequences"] == 2 * number


def test_resuming_with_another_batch_size_goes_on_at_the_same_sequence() -> None:
    prepared = prepared_of(BY_HAND)
    loader, wide = (
        Loader(prepared, config_of(batch_size=1, seq_len=4)),
        Loader(prepared, config_of(batch_size=3, seq_len=4)),
    )
    singles = take(loader, 5)
    wide.load_state_dict({**loader.state_dict(), "num_sequences": 2})
    assert torch.equal(take(wide, 1)[0].tokens_BT, torch.cat([batch.tokens_BT for batch in singles[2:]]))


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"seed": 1}, "seed was 0 and is 1"),
        ({"layout": "pad"}, "layout was 'pack' and is 'pad'"),
        ({"seq_len": 3}, "seq_len was 4 and is 3"),
    ],
)
def test_resuming_something_else_is_refused(changed: dict[str, Any], told: str) -> None:
    state = Loader(prepared_of(BY_HAND), config_of(batch_size=2, seq_len=4)).state_dict()
    with pytest.raises(SomelabError, match=told):
        Loader(prepared_of(BY_HAND), config_of(**{"batch_size": 2, "seq_len": 4, **changed})).load_state_dict(
            state
        )
    with pytest.raises(SomelabError, match="data was 'by hand' and is 'other'"):
        Loader(prepared_of(BY_HAND, "other"), config_of(batch_size=2, seq_len=4)).load_state_dict(state)


def test_order_follows_from_seed_and_epoch() -> None:
    orders = [document_order(50, seed, epoch).tolist() for seed in (0, 1) for epoch in (0, 1)]
    assert all(sorted(order) == list(range(50)) for order in orders)
    assert len({tuple(order) for order in orders}) == 4
    assert document_order(50, 1, 1).tolist() == orders[3]


def test_every_epoch_of_padded_batches_reads_every_document_once() -> None:
    documents = [[2 + number, 3] for number in range(10)]
    loader = Loader(prepared_of(documents), config_of(batch_size=4, seq_len=3, layout="pad"))
    firsts = [int(row[0]) for batch in take(loader, 5) for row in batch.tokens_BT]
    assert sorted(firsts[:10]) == sorted(firsts[10:]) == list(range(2, 12))
    assert loader.num_batches_per_epoch == 2


def test_micro_batches_split_in_order() -> None:
    (batch,) = take(Loader(prepared_of(BY_HAND), config_of(batch_size=3, seq_len=4, layout="pad")), 1)
    parts = batch.micro_batches(2)
    assert [len(part.tokens_BT) for part in parts] == [2, 1]
    assert parts[1].token_index_BT.tolist() == [[8, 9, 10, 11]]
    assert sum(part.num_counted for part in parts) == batch.num_counted
    assert sum(part.num_bytes for part in parts) == batch.num_bytes
    assert {part.num_counted_global for part in parts} == {batch.num_counted}


def test_tensors_have_their_types() -> None:
    (batch,) = take(Loader(prepared_of(BY_HAND), config_of(batch_size=2, seq_len=4)), 1)
    assert {tensor.dtype for tensor in (batch.tokens_BT, batch.targets_BT, batch.token_index_BT)} == {
        torch.int64
    }
    assert batch.documents_BT is not None
    assert (batch.documents_BT.dtype, batch.counted_BT.dtype) == (torch.int64, torch.bool)


def test_bytes_are_those_of_the_text_behind_each_first_token() -> None:
    texts = ["grün 🙂", "plain text", "日本"]
    documents = [byte_tokenizer().encode(text) for text in texts]
    batches = EvaluationLoader(prepared_of(documents), config_of(seq_len=64))
    assert sum(batch.num_bytes for batch in batches) == sum(len(text.encode()) - 1 for text in texts)


def test_the_thread_ends_with_the_iteration() -> None:
    def threads() -> int:
        return sum(thread.name.startswith("somelab-data") for thread in threading.enumerate())

    before = threads()
    batches = iter(Loader(prepared_of(BY_HAND), config_of(batch_size=2, seq_len=4)))
    next(batches)
    assert threads() == before + 1
    batches.close()  # type: ignore[attr-defined]
    assert threads() == before
    assert len(list(EvaluationLoader(prepared_of(BY_HAND), config_of(seq_len=4), batch_size=1))) == 3
    assert threads() == before


def test_a_fault_in_the_thread_reaches_the_reader() -> None:
    prepared = prepared_of(BY_HAND)
    broken = PreparedData("broken", "", prepared.tokenizer, split_of([[300, 300], [301]]), prepared.val)
    with pytest.raises(IndexError):
        next(iter(Loader(broken, config_of(batch_size=1, seq_len=4))))


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        (
            {"batch_size": 4, "seq_len": 4},
            (
                "data.source = 'by hand': has 13 tokens for train, and one batch needs 16 (batch_size 4 x "
                "seq_len 4); lower train.batch_size or model.seq_len, or give more text"
            ),
        ),
        (
            {"batch_size": 4, "seq_len": 4, "layout": "pad"},
            (
                "data.source = 'by hand': has 3 documents for train, and one batch needs 4 (batch_size 4, "
                "one document each); lower train.batch_size, or give more text"
            ),
        ),
        (
            {"batch_size": 2, "seq_len": 4, "vocab_size": 100},
            (
                "model.vocab_size = 100: the tokenizer has 258 tokens; choose that many or more, or prepare "
                "the data again"
            ),
        ),
    ],
)
def test_errors_in_one_line(settings: dict[str, Any], line: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Loader(prepared_of(BY_HAND), config_of(**settings))
    assert str(caught.value) == line


def test_ranks_that_do_not_divide_the_batch() -> None:
    with pytest.raises(
        ConfigError, match=r"train.batch_size = 4: cannot be shared by 3 ranks; choose a multiple"
    ):
        Loader(prepared_of(BY_HAND), config_of(batch_size=4, seq_len=2), world_size=3)
