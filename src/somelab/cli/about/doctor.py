"""`somelab doctor`: what this machine can do, what is missing, and how to get it."""

from __future__ import annotations

import platform
import sys
from dataclasses import dataclass
from typing import Any

from somelab import __version__
from somelab.cli.about import machine
from somelab.cli.terminal import console, print_json, say, table

LEAST_PYTHON = (3, 10)


@dataclass(frozen=True)
class Arguments:
    """Report what this machine can do, what is missing and how to install it. Exit code 1 if something
    required is missing."""

    json: bool = False
    """Print it for programs."""


def run(arguments: Arguments) -> int:
    facts = gather()
    if arguments.json:
        print_json(facts)
    else:
        _print(facts)
    return 0 if facts["ready"] else 1


def gather() -> dict[str, Any]:
    """The facts about this machine and the advice that follows."""
    packages = machine.packages()
    torch_is_here = machine.installed("torch") is not None
    facts: dict[str, Any] = {
        "somelab": __version__,
        "python": platform.python_version(),
        "system": platform.platform(),
        "packages": packages,
        "extras": machine.extras(),
        "processor": machine.processor(),
        "threads": machine.num_threads() if torch_is_here else None,
        "memory": machine.memory(),
        "disk": machine.disk(),
        "matmul_gflops": machine.matmul_speed() if torch_is_here else None,
        "accelerators": machine.accelerators() if torch_is_here else None,
        "compilers": machine.compilers(),
        "native": machine.native() if torch_is_here else None,
    }
    facts["ready"] = sys.version_info >= LEAST_PYTHON and all(package["enough"] for package in packages)
    facts["bf16"] = bf16_verdict(facts["processor"]["features"])
    facts["advice"] = advice(facts)
    return facts


def bf16_verdict(features: dict[str, bool] | None) -> str:
    """How this processor multiplies bf16: `amx`, `avx512`, `emulated`, or `unknown`."""
    if features is None:
        return "unknown"
    return "amx" if features["amx_bf16"] else "avx512" if features["avx512_bf16"] else "emulated"


def advice(facts: dict[str, Any]) -> list[str]:
    """What to do, required items first; an empty list if nothing."""
    lines = []
    if sys.version_info < LEAST_PYTHON:
        lines.append(
            f"required: Python {'.'.join(map(str, LEAST_PYTHON))} or newer, this is {facts['python']}"
        )
    for package in facts["packages"]:
        if not package["enough"]:
            least = f">={package['needs']}" if package["needs"] else ""
            lines.append(
                f"required: pip install '{package['name']}{least}' (here: "
                f"{package['installed'] or 'missing'})"
            )
    speed = facts["matmul_gflops"]
    if facts["bf16"] == "emulated" and speed:
        lines.append(
            f"bf16 is emulated on this processor ({speed['bf16']:.0f} GFLOP/s, fp32 {speed['fp32']:.0f}): "
            "train.precision auto takes fp32 here"
        )
    missing = [name for name, path in facts["compilers"].items() if path is None]
    if missing:
        lines.append(
            f"optional: {' and '.join(missing)} for compiled kernels and --train.compile; all else works "
            "without"
        )
    lines += [
        f"optional: {extra['install']} brings {', '.join(extra['missing'])}"
        for extra in facts["extras"]
        if extra["missing"]
    ]
    return lines


def _print(facts: dict[str, Any]) -> None:
    print(f"somelab {facts['somelab']}, Python {facts['python']}, {facts['system']}\n")
    listing = table("package", "installed", "needs", "tested", "")
    for package in facts["packages"]:
        needs = f">={package['needs']}" if package["needs"] else "any"
        listing.add_row(
            package["name"],
            package["installed"] or "missing",
            needs,
            package["tested"] or "",
            _state(package),
        )
    console().print(listing)
    print()
    listing = table("machine", "", wrapped=("",))
    for name, text in _machine_rows(facts):
        listing.add_row(name, text)
    console().print(listing)
    print()
    for line in facts["advice"]:
        say(f"- {line}")
    print("Ready." if facts["ready"] else "Not ready: something required is missing.")


def _state(package: dict[str, Any]) -> str:
    if not package["enough"]:
        return "missing" if package["installed"] is None else "too old"
    same = package["tested"] is None or package["installed"].split("+")[0] == package["tested"]
    return "as tested" if same else "not the tested version, should work"


def _machine_rows(facts: dict[str, Any]) -> list[tuple[str, str]]:
    cpu, speed, accelerators = facts["processor"], facts["matmul_gflops"], facts["accelerators"]
    features = cpu["features"]
    bf16 = {
        "amx": "bf16 products run on AMX tiles: train in bf16",
        "avx512": "bf16 products run natively (AVX-512): train in bf16",
        "emulated": "bf16 products are emulated: train in fp32",
        "unknown": "not reported by this system; compare the speeds below",
    }
    num_threads = facts["threads"]
    threads = f", torch uses {num_threads} thread{'s' if num_threads > 1 else ''}" if num_threads else ""
    rows = [
        ("processor", cpu["name"]),
        ("cores", f"{cpu['usable_cores']} usable of {cpu['cores']}{threads}"),
        (
            "features",
            ", ".join(f"{name} {'yes' if has else 'no'}" for name, has in features.items())
            if features
            else "not known",
        ),
        ("bf16", bf16[facts["bf16"]]),
    ]
    if speed:
        times = _ratio(speed["bf16"] / speed["fp32"])
        rows.append(
            (
                f"{machine.MATMUL}^3 product",
                f"fp32 {speed['fp32']:.0f} GFLOP/s, bf16 {speed['bf16']:.0f} GFLOP/s: {times}",
            )
        )
    if accelerators:
        rows.append(("CUDA", ", ".join(accelerators["cuda"]) or "none"))
    rows += [
        ("memory", f"{_size(facts['memory']['free'])} free of {_size(facts['memory']['total'])}"),
        ("disk", f"{_size(facts['disk']['free'])} free of {_size(facts['disk']['total'])}, here"),
        (
            "compilers",
            ", ".join(f"{name} {path or 'not found'}" for name, path in facts["compilers"].items()),
        ),
        ("experts", _experts(facts["native"])),
        (
            "extras",
            ", ".join(f"{extra['name']} {'no' if extra['missing'] else 'yes'}" for extra in facts["extras"])
            or "none",
        ),
    ]
    return rows


def _ratio(times: float) -> str:
    return f"bf16 is {times:.1f} times as fast" if times >= 1 else f"fp32 is {1 / times:.1f} times as fast"


def _experts(native: dict[str, Any] | None) -> str:
    """Which code computes frozen experts, and why."""
    if native is None:
        return "not known without torch"
    return (
        f"compiled kernels ({native['reason']})"
        if native["ready"]
        else f"torch only, no compiled kernels: {native['reason']}"
    )


def _size(size: int | None) -> str:
    return "?" if size is None else f"{size / 1e9:.1f} GB"
