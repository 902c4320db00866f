"""From a run to a folder that transformers reads: weights, configuration, fast tokenizer, card, code."""

from __future__ import annotations

import tempfile
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from somelab.data.tokenizer import END_OF_TEXT, END_OF_TEXT_ID, PAD, PAD_ID, Tokenizer
from somelab.disk import atomic
from somelab.errors import ConfigError, SomelabError, notice
from somelab.interop.extras import needed
from somelab.interop.huggingface.card import card_of
from somelab.runs.packing import name_of_source
from somelab.runs.trained import TrainedModel

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

    from somelab.interop.huggingface.modeling import SomelabForCausalLM

PURPOSE = "an export to Hugging Face"


def check_installed() -> None:
    """Raise one line if transformers is missing."""
    needed("transformers", "hf", PURPOSE)


def to_model(trained: TrainedModel, *, full_pools: bool = False) -> SomelabForCausalLM:
    """The model of a run as a `PreTrainedModel`; it shares no memory with the run's own."""
    check_installed()
    from somelab.interop.huggingface import pools
    from somelab.interop.huggingface.configuration import SomelabConfig
    from somelab.interop.huggingface.modeling import SomelabForCausalLM

    settings = trained.model.config.model_dump(mode="json")
    settings["data"]["source"] = name_of_source(settings["data"]["source"])
    config = SomelabConfig(
        settings, pools.describe(trained.model), full_pools, eos_token_id=END_OF_TEXT_ID, pad_token_id=PAD_ID
    )
    model = SomelabForCausalLM(config)
    if trained.pool is not None:
        notice(f"run {trained.run.path}: the experts that it has grown are left out here")
    model.decoder.load_state_dict(trained.model.state_dict())
    return model.eval()


def to_tokenizer(tokenizer: Tokenizer, seq_len: int) -> PreTrainedTokenizerFast:
    """The run's tokenizer for transformers. As in somelab, no text can produce a special token."""
    check_installed()
    import tokenizers
    from transformers import PreTrainedTokenizerFast

    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizers.Tokenizer.from_str(tokenizer.to_json()),
        eos_token=END_OF_TEXT,
        pad_token=PAD,
        padding_side="left",
        model_max_length=seq_len,
        split_special_tokens=True,
        clean_up_tokenization_spaces=False,
        model_input_names=["input_ids", "attention_mask"],
    )


def export(trained: TrainedModel, folder: str | PathLike[str], *, full_pools: bool = False) -> Path:
    """Write everything into a new or empty folder. It appears whole, or not at all.

    `full_pools`: also store frozen experts, which otherwise are drawn again from their random seed."""
    target = Path(folder)
    check_free(target)  # before the work
    model = to_model(trained, full_pools=full_pools)
    tokenizer = to_tokenizer(trained.tokenizer, trained.config.model.seq_len)
    card = card_of(trained, full_pools=full_pools)

    return write_model_folder(target, model, tokenizer, card)


def write_model_folder(folder: Path, model: Any, tokenizer: Any, card: str) -> Path:
    """Model, tokenizer and card in a new or empty folder. It appears whole, or not at all."""
    check_free(folder)

    def fill(inside: Path) -> None:
        with quiet():
            model.save_pretrained(inside)
            tokenizer.save_pretrained(inside)
        (inside / "README.md").write_text(card, encoding="utf-8")

    folder.parent.mkdir(parents=True, exist_ok=True)
    with atomic.explained(folder):
        if folder.exists():
            folder.rmdir()  # empty; the new folder takes its place
        atomic.write_folder(folder, fill)
    return folder


def check_free(folder: Path) -> None:
    """Raise for a path that is taken."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigError("folder", str(folder), "exists and is not empty", "choose another one")


def push(trained: TrainedModel, repository: str, *, private: bool = False, full_pools: bool = False) -> str:
    """Upload the exported folder to the Hugging Face Hub and return its address. `hf auth login` logs in."""
    check_installed()
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalTokenNotFoundError

    try:
        api = HfApi()
        name = str(api.create_repo(repository, private=private, exist_ok=True).repo_id)
        with tempfile.TemporaryDirectory() as inside:
            folder = export(trained, Path(inside) / "model", full_pools=full_pools)
            pushed: Any = api.upload_folder(
                repo_id=name, folder_path=folder, commit_message="Upload from somelab"
            )
    except HFValidationError as error:
        problem = " ".join(str(error).split())
        raise ConfigError("repository", repository, problem, "give USER/NAME") from None
    except (HfHubHTTPError, LocalTokenNotFoundError, OSError) as error:
        problem = " ".join(str(error).split())
        raise SomelabError(
            f"{repository} was not uploaded ({problem}); log in with `hf auth login`, or export to a folder"
        ) from None
    return str(getattr(pushed, "repo_url", name))


class quiet:
    """transformers' progress bars off, and back as they were."""

    def __enter__(self) -> None:
        from transformers.utils import logging

        self.was_on = logging.is_progress_bar_enabled()
        logging.disable_progress_bar()

    def __exit__(self, *error: object) -> None:
        from transformers.utils import logging

        if self.was_on:
            logging.enable_progress_bar()
