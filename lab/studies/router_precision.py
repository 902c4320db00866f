"""What bf16 in the query network changes: the share of tokens whose K-set differs, and val_ppl when trained
either way.

`python lab/studies/router_precision.py TEXT.txt [--seeds 3] [--presets a1 ...]` trains each preset at micro
scale in bf16, with its query network once in bf16 and once in fp32; then it routes validation tokens of every
model both ways, from the same states."""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

import torch

from somelab.config import override, preset, scaled
from somelab.core.router import Router
from somelab.data.prepare import prepare
from somelab.model.decoder import Decoder
from somelab.runs.trained import load_trained
from somelab.training import session
from somelab.training.evaluate import evaluate, validation


class Differing:
    """Counts, per layer, the tokens whose set of experts is another one when the query network is exact."""

    def __init__(self, model: Decoder) -> None:
        self.differing, self.tokens = [0.0] * len(model.some_layers()), 0
        for number, layer in enumerate(model.some_layers()):
            layer.router.register_forward_hook(self._hook(number), with_kwargs=True)

    def _hook(self, number: int):
        def compare(router: Router, inputs, options, rounded) -> None:
            settings = router.config
            router.config = settings.model_copy(update={"precision": "fp32"})
            exact = router.forward(*inputs, **options)
            router.config = settings
            sets = (routing.indices_TK.sort(dim=1).values for routing in (rounded, exact))
            same_T = torch.eq(*sets).all(dim=1)
            self.differing[number] += float((~same_T).sum())
            self.tokens += same_T.numel() if number == 0 else 0

        return compare

    def shares(self) -> list[float]:
        return [round(count / self.tokens, 4) for count in self.differing]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("text")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--presets", nargs="+", default=["a1"])
    parser.add_argument("--scale", default="micro")
    asked = parser.parse_args()
    for name in asked.presets:
        for seed in range(asked.seeds):
            for precision in ("model", "fp32"):
                settings = {
                    "data.source": asked.text,
                    "train.seed": seed,
                    "router.precision": precision,
                    "train.precision": "bf16",
                }
                config = override(scaled(preset(name).config, asked.scale), settings)
                with tempfile.TemporaryDirectory() as folder:
                    run, outcome = session.start(config, Path(folder) / "run", {"name": name})
                    model = load_trained(run).model
                assert outcome.evaluation is not None
                record = {
                    "preset": name,
                    "seed": seed,
                    "router.precision": precision,
                    "val_ppl": outcome.evaluation.val_ppl,
                }
                if precision == "model":
                    counter = Differing(model)
                    evaluate(
                        model, validation(prepare(config), config), dtype=torch.bfloat16, max_tokens=16_384
                    )
                    record["differing_share"] = counter.shares()
                print(json.dumps(record), flush=True)


if __name__ == "__main__":
    main()
