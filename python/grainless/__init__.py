# SPDX-License-Identifier: MIT
"""Takes the noise out of pictures: BM3D, Non-Local Means and DCT on the processor or NVIDIA graphics cards.

    import grainless
    clean = grainless.denoise(noisy)                    # measures the noise and removes it
    clean = grainless.denoise(noisy, method="nlm", sigma=12)
    frames = grainless.denoise(burst, depth=3)          # layers × rows × columns: a stack

Arrays are of uint8, uint16, float16, float32 or float64 (computed with the precision of float32), rows × columns or
rows × columns × channels with 1 grey, 2 grey and alpha, 3 RGB, 4 RGBA; with depth > 0 an axis of layers comes first.
Integers span the range of their type; floats span 0 to 1, and may lie outside. Samples are perceptual, as in PNG and
JPEG files (sRGB): encode linear light first. The bits are those of the command line and of the GIMP plug-in.
"""
import atexit
import inspect
import numbers
import operator
import os
import textwrap
import threading
import warnings
import weakref

import numpy as np

from . import _core
from ._core import DeviceError, NoiseModel

__all__ = ["DeviceError", "Engine", "GrainlessWarning", "NoiseModel", "denoise", "devices", "estimate", "halo", "parameters",
           "presets"]
__version__ = _core.version

DTYPES = ("uint8", "uint16", "float16", "float32", "float64")


class GrainlessWarning(UserWarning):
    """Tells of a fall-back to another device, a setting without effect, or a result that equals its input."""


def parameters():
    """The table of settings: a dictionary for each, with key, type, range or choices, default and help."""
    return _core.parameters()


def presets():
    """The names of the built-in presets."""
    return _core.preset_ids()


_TABLE = {row["key"].replace("-", "_"): row for row in _core.parameters()}


def _text(keyword, value):
    """A keyword's value as the engine's table takes it."""
    row = _TABLE.get(keyword)
    if row is None:
        raise TypeError(f"grainless has no setting '{keyword}'; the settings are {', '.join(_TABLE)}")
    kind = row["type"]
    if isinstance(value, str):
        if not value.isprintable():  # the engine's texts end at a NUL, and half a surrogate pair has no bytes
            raise ValueError(f"{value!r} is not a value of {keyword}")
        return value
    try:
        if kind == "bool" and isinstance(value, (bool, np.bool_)):
            return "yes" if value else "no"
        if kind in ("int", "choice") and not isinstance(value, (bool, np.bool_)):
            return str(operator.index(value))
        if kind == "float" and not isinstance(value, (bool, np.bool_)):
            return repr(float(value))
    except TypeError:
        pass
    except (OverflowError, ValueError) as error:
        if isinstance(value, numbers.Number):  # of more digits than a float's or a text's
            raise ValueError(f"'{keyword}' takes {kind} from {row['minimum']:g} to {row['maximum']:g}") from error
    raise TypeError(f"'{keyword}' takes {kind}, not {type(value).__name__}")


def _preset(preset):
    """Settings of a built-in preset by name, or of a preset's file by its path."""
    if preset is None:
        return []
    if not isinstance(preset, (str, os.PathLike)):
        raise TypeError(f"preset takes a name or the path of a file, not {type(preset).__name__}")
    if isinstance(preset, os.PathLike) or "/" in preset or preset.endswith(".preset"):
        os.stat(preset)  # a file that is missing is an OSError of Python's own
        return _core.read_preset(os.fsencode(preset))
    settings = _core.built_in(preset) if preset.isprintable() else []
    if not settings:
        raise ValueError(f"there is no preset {preset!r}; built in are {', '.join(presets())}")
    return settings


def _params(preset, settings):
    params = _core.Params(_preset(preset), [(key.replace("_", "-"), _text(key, value)) for key, value in settings.items()])
    for key in settings:
        if not params.applies(key.replace("_", "-")):
            _warn(f"{key} has no effect here")
    return params


def _warn(sentence):
    """Names the line outside of this module that called it."""
    level = 2
    frame = inspect.currentframe()
    while frame.f_back is not None and frame.f_back.f_globals.get("__name__") == __name__:
        frame = frame.f_back
        level += 1
    warnings.warn(sentence, GrainlessWarning, stacklevel=level)


def _model(model):
    if not isinstance(model, NoiseModel):
        raise TypeError(f"model takes a NoiseModel, as estimate() gives it, not {type(model).__name__}")
    return model


def _array(array):
    """As an array, which can't say what is masked in it (numpy.ma would be imported for the question)."""
    if isinstance(array, np.ndarray) and np.any(getattr(array, "mask", False)):
        raise TypeError("masked values are not taken: fill them, filled() does, and mask the result")
    return np.asarray(array)


def _four_axes(array, depth):
    """As layers × rows × columns × channels of a type that the engine computes with."""
    axes = ("layers × rows × columns", "layers × rows × columns × channels") if depth else \
        ("rows × columns", "rows × columns × channels")
    bare = 3 if depth else 2
    if array.ndim not in (bare, bare + 1) or (array.ndim == bare + 1 and not 1 <= array.shape[-1] <= 4):
        raise ValueError(f"an array of shape {array.shape} doesn't fit: {axes[0]} or {axes[1]} with 1 to 4 channels"
                         + ("" if depth else "; for a stack of layers give depth"))
    if 0 in array.shape:
        raise ValueError(f"an array of shape {array.shape} holds no pixels")
    if array.dtype.newbyteorder("=").name not in DTYPES:
        raise TypeError(f"arrays of {array.dtype} are not taken, those of {', '.join(DTYPES)} are")
    if array.ndim == bare:
        array = array[..., np.newaxis]
    if not depth:
        array = array[np.newaxis]
    single = np.dtype("float32") if array.dtype.itemsize == 8 else array.dtype.newbyteorder("=")
    with np.errstate(over="ignore"):  # what is infinite as float32 stays, as infinity does
        return np.ascontiguousarray(array, dtype=single)


def _place(array, origin, shape, depth):
    """Shape of the whole and the array's place in it, with layers first."""
    axes = 3 if depth else 2
    own = array.shape[:axes] if array.ndim > axes else array.shape
    if (origin is None) != (shape is None):
        raise ValueError("origin and shape belong together: where the array lies in a whole of which size")
    try:
        whole = own if shape is None else tuple(operator.index(size) for size in shape)
        begin = (0,) * axes if origin is None else tuple(operator.index(place) for place in origin)
    except TypeError:
        raise TypeError(f"origin and shape take {axes} whole numbers here") from None
    if len(whole) != axes or len(begin) != axes:
        raise ValueError(f"origin and shape take {axes} numbers here")
    if any(at < 0 or at + size > of for at, size, of in zip(begin, own, whole)):
        raise ValueError(f"an array of shape {own} at {begin} is no part of one of shape {whole}")
    if max(whole) > 2**30:
        raise ValueError(f"a side may have {2**30} pixels, not {max(whole)}")
    return (whole, begin) if depth else ((1, *whole), (0, *begin))


_engines = weakref.WeakSet()


class Engine:
    """Threads, graphics cards and their memory, kept from call to call. The functions of the module share one engine.

    threads: how many threads compute on the processor, 0 for one for each core. An engine may be used from several
    threads, and in forked and spawned processes.
    """

    def __init__(self, threads=0):
        self._threads = operator.index(threads)
        if not 0 <= self._threads <= 4096:
            raise ValueError(f"threads takes 0 to 4096, not {self._threads}")
        self._lock = threading.Lock()
        self._engine = None
        _engines.add(self)

    def __reduce__(self):
        return Engine, (self._threads,)

    def _forget(self):
        """In a forked process: the engine's threads stayed with the parent."""
        if self._engine is not None:
            _core.keep_forever(self._engine)
        self._lock = threading.Lock()
        self._engine = None

    def _started(self):
        with self._lock:
            if self._engine is None:
                self._engine = _core.Engine(self._threads, _module_folder())
            return self._engine

    def devices(self):
        """The devices: a dictionary for each, with name, description, whether it is usable, and the reason if not."""
        return self._started().devices()

    def estimate(self, array, *, preset=None, **settings):
        """The noise that denoise() would remove from the array: as measured, or white noise of a given sigma.

        The sigma of the NoiseModel is its standard deviation in 8-bit steps, of grey or of lightness and two colours.
        """
        params = _params(preset, settings)
        return self._started().measure(params, _four_axes(_array(array), params.depth), None)

    def halo(self, model, *, preset=None, **settings):
        """How far around it a pixel's result depends on others: (rows, columns), or with depth > 0 (layers, rows,
        columns), as dask's map_overlap takes it."""
        params = _params(preset, settings)
        layers, side = self._started().reach(params, _model(model))
        return (layers, side, side) if params.depth else (side, side)

    def denoise(self, array, *, preset=None, model=None, origin=None, shape=None, progress=None, return_report=False,
                **settings):
        """A copy of the array without its noise, of the same shape and type."""
        array = _array(array)
        params = _params(preset, settings)
        source = _four_axes(array, params.depth)
        place = _place(array, origin, shape, params.depth)
        if model is not None:
            _model(model)
        if progress is not None and not callable(progress):
            raise TypeError(f"progress takes a function, not {type(progress).__name__}")
        engine = self._started()
        if model is None:
            if origin is not None:
                raise ValueError("a part of a picture needs the whole one's model: estimate() gives it")
            # Of the time that a stack takes, what its measurement takes.
            measured = 0.1 if params.depth else 0
            model = engine.measure(params, source, _part(progress, 0, measured))
            progress = _part(progress, measured, 1)
        # What is too near to a cut for its surroundings to be there keeps its value.
        target = np.empty_like(source) if origin is None else source.copy()
        report = engine.denoise(params, model, source, target, place, progress)
        # A package without the card's module never meant a card, unless one was asked for.
        expected = not _module_folder() and settings.get("device", "auto") == "auto"
        for sentence in [*([] if expected else report["fallback"]), report["note"]]:
            if sentence:
                _warn(sentence)
        result = target.reshape(array.shape).astype(array.dtype, copy=False)
        if array.dtype.itemsize == 8:
            # The float32 of what stays would be less than it: rounded, and infinite beyond 3.4e38.
            kept = (target == source).reshape(array.shape)
            result[kept] = array[kept]
        return (result, report) if return_report else result


def _part(progress, start, end):
    """What reports from start to end what is done of a part."""
    if progress is None or start == end:
        return None
    return lambda done: progress(start + (end - start) * done)


def _module_folder():
    """Of the CUDA module: $GRAINLESS_MODULE_DIR, or this package where it holds one; empty for the processor alone."""
    chosen = os.environ.get("GRAINLESS_MODULE_DIR", "")
    if chosen:
        if not os.path.isabs(chosen):
            raise ValueError("GRAINLESS_MODULE_DIR needs an absolute path: nothing is loaded from the working directory")
        return chosen
    folder = os.path.dirname(os.path.abspath(__file__))
    return folder if os.path.exists(os.path.join(folder, "grainless-cuda.so")) else ""


def _after_fork():
    _core.forget_calls()
    for engine in _engines:
        engine._forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)

# Threads that are at work when Python ends, daemons, would end the process with SIGABRT.
atexit.register(_core.end_calls)

_default = Engine()


def denoise(array, *, preset=None, model=None, origin=None, shape=None, progress=None, return_report=False, **settings):
    return _default.denoise(array, preset=preset, model=model, origin=origin, shape=shape, progress=progress,
                            return_report=return_report, **settings)


def estimate(array, *, preset=None, **settings):
    return _default.estimate(array, preset=preset, **settings)


def halo(model, *, preset=None, **settings):
    return _default.halo(model, preset=preset, **settings)


def devices():
    return _default.devices()


_ABOUT = """

    preset: a built-in preset's name, or the path of a preset's file; settings given beside it take precedence.
    model: what estimate() returned for the whole picture; without it the array is measured.
    origin, shape: the array is a part, beginning at `origin`, of a whole picture of `shape`: (rows, columns) or (layers,
        rows, columns). Its pixels become those of the whole picture's result, except those nearer to a cut than halo(),
        which keep their values. Needs `model`.
    progress: called with 0 to 1 in the calling thread. An exception that it raises ends the work, as Ctrl+C does.
    return_report: returns (array, report): device, sigma, seconds, …

    Raises ValueError and TypeError for wrong arguments, MemoryError, and DeviceError where the work fails on every device.
    A card that is missing or fails is no error: the processor takes over. Warns (GrainlessWarning) of such fall-backs, of
    settings without effect and of results that equal their input.

    Settings:
"""


def _default_of(row):
    text = row["default"]
    return {"bool": "yes".__eq__, "int": int, "float": float}.get(row["type"], str)(text)


def _describe(function):
    """Gives a function and its method the settings' names and their help: introspection sees the one table."""
    method = getattr(Engine, function.__name__)
    about = inspect.cleandoc(method.__doc__)
    if function is denoise:
        about += textwrap.dedent(_ABOUT)
        about += "".join(f"{name}: {row['help']} Default: {row['default']}.\n" for name, row in _TABLE.items())
    else:
        about += "\n\nTakes the settings of denoise().\n"
    keywords = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=_default_of(row)) for name, row in _TABLE.items()]
    for each in (function, method):
        own = inspect.signature(each)
        named = [value for value in own.parameters.values() if value.kind != inspect.Parameter.VAR_KEYWORD]
        each.__signature__ = own.replace(parameters=named + keywords)
        each.__doc__ = about


for _function in (denoise, estimate, halo):
    _describe(_function)
devices.__doc__ = Engine.devices.__doc__
