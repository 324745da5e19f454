#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints the package's type stub; the settings come from the engine's table: make_stub.py FOLDER_OF_THE_PACKAGE"""
import sys

sys.path.insert(0, sys.argv[1])
import grainless

STUB = """\
# Made by python/make_stub.py from the engine's table of parameters.
import os
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypedDict, overload
import numpy as np
from numpy.typing import ArrayLike, NDArray

__version__: str

class DeviceError(RuntimeError): ...
class GrainlessWarning(UserWarning): ...

class NoiseModel:
    @property
    def sigma(self) -> list[float]: ...
    @property
    def confidence(self) -> Literal["measured", "little", "unsure", "too-small"]: ...
    @property
    def corners(self) -> float: ...

class Report(TypedDict):
    device: str
    device_description: str
    fallback: list[str]
    sigma: list[float]
    confidence: str
    corners: float
    changed: bool
    note: str
    replaced_pixels: int
    seconds: dict[str, float]
    tiles: int
    peak_memory: int

def parameters() -> list[dict[str, Any]]: ...
def presets() -> list[str]: ...
"""
FUNCTIONS = """\
def devices({self}) -> list[dict[str, Any]]: ...
def estimate({self_}array: ArrayLike, *, preset: str | os.PathLike[str] | None = None,
{settings}) -> NoiseModel: ...
def halo({self_}model: NoiseModel, *, preset: str | os.PathLike[str] | None = None,
{settings}) -> tuple[int, ...]: ...
@overload
def denoise({self_}array: ArrayLike, *, preset: str | os.PathLike[str] | None = None, model: NoiseModel | None = None,
    origin: Sequence[int] | None = None, shape: Sequence[int] | None = None,
    progress: Callable[[float], object] | None = None, return_report: Literal[False] = False,
{settings}) -> NDArray[Any]: ...
@overload
def denoise({self_}array: ArrayLike, *, preset: str | os.PathLike[str] | None = None, model: NoiseModel | None = None,
    origin: Sequence[int] | None = None, shape: Sequence[int] | None = None,
    progress: Callable[[float], object] | None = None, return_report: Literal[True],
{settings}) -> tuple[NDArray[Any], Report]: ...
"""


def type_of(row):
    if row["type"] != "choice":
        return row["type"]
    # Numbers among the choices may be given as such.
    names = [value for choice in row["choices"] for value in ((repr(choice), choice) if choice.isdigit() else (repr(choice),))]
    return f"Literal[{', '.join(names)}]".replace("'", '"')


def functions(is_method):
    settings = ",\n".join(f"    {row['key'].replace('-', '_')}: {type_of(row)} = ..." for row in grainless.parameters())
    return FUNCTIONS.format(self="self" if is_method else "", self_="self, " if is_method else "", settings=settings)


methods = "".join(f"    {line}\n" for line in functions(True).splitlines())
sys.stdout.write(f"{STUB}\n{functions(False)}\nclass Engine:\n    def __init__(self, threads: int = 0) -> None: ...\n{methods}")
