"""A GGUF file becomes a folder of Hugging Face with the same model: written here in miniature, as such files
hold their tensors, with the rows of queries and keys in another order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from somelab.pretrained.source import convert, open_model
from tests.pretrained.conftest import VOCABULARY, llama

gguf = pytest.importorskip("gguf", reason="the extra smollm is not installed")
HEADS, KEY_HEADS = 4, 2


def stored(weight: torch.Tensor, num_heads: int) -> torch.Tensor:
    """Rows of a projection as GGUF has them: the two halves of each head in turns."""
    size = weight.shape[0] // num_heads
    return weight.view(num_heads, 2, size // 2, -1).transpose(1, 2).reshape(weight.shape)


def write(model: Any, file: Path) -> None:
    config = model.config
    writer = gguf.GGUFWriter(str(file), "llama")
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KEY_HEADS)
    writer.add_rope_dimension_count(config.hidden_size // HEADS)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(10_000.0)
    writer.add_vocab_size(VOCABULARY)
    letters = [*(chr(33 + number) for number in range(VOCABULARY - 2)), "AB", "CD"]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(letters)
    writer.add_token_types([gguf.TokenType.NORMAL] * VOCABULARY)
    writer.add_token_merges(["A B", "C D"])
    for number, name in ((0, "bos"), (1, "eos"), (2, "unk"), (3, "pad")):
        getattr(writer, f"add_{name}_token_id")(number)
    tensors = {"token_embd": model.model.embed_tokens.weight, "output_norm": model.model.norm.weight}
    for number, layer in enumerate(model.model.layers):
        attention, block = layer.self_attn, layer.mlp
        tensors |= {
            f"blk.{number}.{name}": weight
            for name, weight in {
                "attn_q": stored(attention.q_proj.weight, HEADS),
                "attn_k": stored(attention.k_proj.weight, KEY_HEADS),
                "attn_v": attention.v_proj.weight,
                "attn_output": attention.o_proj.weight,
                "attn_norm": layer.input_layernorm.weight,
                "ffn_norm": layer.post_attention_layernorm.weight,
                "ffn_gate": block.gate_proj.weight,
                "ffn_up": block.up_proj.weight,
                "ffn_down": block.down_proj.weight,
            }.items()
        }
    for name, weight in tensors.items():
        writer.add_tensor(f"{name}.weight", weight.detach().contiguous().numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def test_a_gguf_file_becomes_a_folder_with_the_same_model(tmp_path: Path) -> None:
    model = llama(num_attention_heads=HEADS, num_key_value_heads=KEY_HEADS)
    file, folder = tmp_path / "tiny.gguf", tmp_path / "folder"
    write(model, file)
    folder.mkdir()
    convert(file, folder)
    found, tokenizer = open_model(str(folder))
    for name, weight in model.state_dict().items():
        assert torch.equal(found.state_dict()[name], weight), name
    rows_BS = torch.arange(40)[None]
    with torch.no_grad():
        torch.testing.assert_close(found(rows_BS).logits, model(rows_BS).logits, rtol=1e-5, atol=1e-5)
    assert found.dtype == torch.float32
    assert not hasattr(found.config, "quantization_config")
    assert tokenizer.decode(tokenizer("ABC", add_special_tokens=False).input_ids) == "ABC"
