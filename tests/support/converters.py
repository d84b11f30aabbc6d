"""The converters of the examples, which are programs and no package."""

import importlib.util
from pathlib import Path
from types import ModuleType

CONVERTERS = Path(__file__).parents[2] / "examples" / "converters"


def converter(name: str) -> ModuleType:
    """Return a converter as a module."""
    spec = importlib.util.spec_from_file_location(name, CONVERTERS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
