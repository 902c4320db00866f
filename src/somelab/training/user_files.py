"""Python files that a user gives to the command: rules and callbacks."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from somelab.core.gravity import ORDER, Rule
from somelab.errors import ConfigError
from somelab.training.callbacks import Callback


def rules_in(*paths: Path) -> list[Rule]:
    """The rules that files define: every `Rule` among their names, in the order of definition."""
    return [rule for path in paths for rule in _rules_of(path)]


def callbacks_in(*paths: Path) -> list[Callback]:
    """The callbacks that files define: instances among their names, and one of each class of their own
    without an instance."""
    return [callback for path in paths for callback in _callbacks_of(path)]


def _rules_of(path: Path) -> list[Rule]:
    module = _executed(path, "--rule")
    found = [value for value in vars(module).values() if isinstance(value, Rule) and value not in ORDER]
    if not found:
        raise ConfigError(
            "--rule", str(path), "defines no rule", "add RULE = somelab.Rule(your_function, ...)"
        )
    return found


def _callbacks_of(path: Path) -> list[Callback]:
    module = _executed(path, "--callback")
    made = [value for value in vars(module).values() if isinstance(value, Callback)]
    classes = [
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, Callback) and value.__module__ == module.__name__
    ]
    try:
        made += [one() for one in classes if not any(isinstance(callback, one) for callback in made)]
    except TypeError as error:
        problem = f"has a callback that cannot be made without arguments ({error})"
        raise ConfigError("--callback", str(path), problem, "add an instance of it to the file") from None
    if not made:
        remedy = "add a subclass of somelab.Callback, or an instance of one"
        raise ConfigError("--callback", str(path), "defines no callback", remedy)
    return made


def _executed(path: Path, flag: str) -> ModuleType:
    """The file as a module. It is executed."""
    if not path.is_file():
        raise ConfigError(flag, str(path), "is no file", f"give a Python file for {flag}")
    spec = spec_from_file_location(f"somelab_user_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise ConfigError(flag, str(path), "is no Python file", "give one whose name ends with .py")
    module = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        raise ConfigError(
            flag, str(path), f"cannot be executed ({reason})", "correct it, and try again"
        ) from error
    return module
