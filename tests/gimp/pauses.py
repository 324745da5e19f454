# SPDX-License-Identifier: MIT
"""Holding the filter at a stage of its work, from outside of GIMP (tests/gimp/pause.cpp and meanwhile.py)."""
import contextlib
import json
import os
import pathlib
import time

FOLDER = pathlib.Path(os.environ.get("GRAINLESS_PAUSE", ""))
FILES = ("at", "reached", "action.py", "done.json", "refuse")  # not the settings of filters to come
# The first progress, the middle of the computing, and the new pixels ready in the shadow buffer.
STAGES = {"begin": "progress 0", "middle": "progress 0.4", "end": "progress 0.99"}

# How GIMP can end, as code for meanwhile.py.
QUIT = """procedure = Gimp.get_pdb().lookup_procedure('gimp-quit')
config = procedure.create_config()
config.set_property('force', True)
procedure.run(config)
"""
ENDS = {"gets SIGTERM": "os.kill(os.getppid(), 15)\n", "gets SIGKILL": "os.kill(os.getppid(), 9)\n", "is told to quit": QUIT}


def clear():
    for name in FILES:
        (FOLDER / name).unlink(missing_ok=True)


def wait_until_done(what, patience=60):
    done, end = FOLDER / "done.json", time.monotonic() + patience
    while not done.exists() and time.monotonic() < end:  # a killed filter's caller may be faster
        time.sleep(0.01)
    assert done.exists(), f"{what}: the filter never came there"
    error = json.loads(done.read_text(encoding="utf-8"))["error"]
    assert error is None, error


def prepare(stage, code):
    """The filter will be held at the stage, and the code run then."""
    clear()
    (FOLDER / "action.py").write_text(code, encoding="utf-8")
    (FOLDER / "at").write_text(stage, encoding="utf-8")


@contextlib.contextmanager
def meanwhile(stage, code):
    """What runs inside is held at the stage, and the code run then."""
    prepare(stage, code)
    try:
        yield
        wait_until_done(stage, 5)
    finally:
        clear()


@contextlib.contextmanager
def asked(name, text):
    """While it lasts, a file of pause.cpp is there."""
    path = FOLDER / name
    path.write_text(text, encoding="utf-8")
    try:
        yield
    finally:
        path.unlink()


def environment(**variables):
    """Filters that start inside find these variables set."""
    return asked("environment", "".join(f"{name}={value}\n" for name, value in variables.items()))


def host_memory(mebibytes):
    """Filters that start inside have so much memory for a layer's pixels: larger ones pass in bands."""
    return environment(GRAINLESS_HOST_MEMORY=mebibytes)


@contextlib.contextmanager
def no_memory(stage, count, size):
    """Filters inside get no memory from there on (pause.cpp); yields whether one has asked for it."""
    failed = FOLDER / "failed"
    failed.unlink(missing_ok=True)
    with asked("no-memory", f"{stage} {count} {size}"):
        yield failed.exists


# Stage, as users would call it → where in the process, and the size of what is refused: a layer's pixels in these tests.
MEMORY = {"reading the layer": "begin 0", "measuring its noise": "progress 0.04", "tiles": "progress 0.07",
          "writing": "progress 0.97"}


def disk_full():
    """No file takes another byte from the filter."""
    return asked("disk-full", "")


def at_once(code):
    """Somebody else in GIMP runs the code now."""
    clear()
    (FOLDER / "action.py").write_text(code, encoding="utf-8")
    part = FOLDER / "reached.part"
    part.write_text("0", encoding="utf-8")
    os.replace(part, FOLDER / "reached")  # whoever waits for it finds the number in it
    wait_until_done("at once")
    clear()
