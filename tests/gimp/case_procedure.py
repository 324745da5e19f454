# SPDX-License-Identifier: MIT
"""The procedure itself: arguments, run modes, messages, the report, Script-Fu, and the command line's result."""
import os
import pathlib
import re
import subprocess

import numpy as np
from gi.repository import Gimp, Gio

from harness import (PDB, PROCEDURE, QUICK, SIGMA, SUCCESS, WORK, add_layer, call, denoise, files_of_older_versions, load,
                     native_bytes, native_pixels, new_image, noise_left)

KEYS = ["method", "quality", "auto-sigma", "sigma", "strength", "luma", "chroma", "shadows", "highlights", "detail",
        "impulse", "search", "patch", "step", "group", "transform", "matching", "stages", "centre", "weights", "noise", "scales",
        "device", "memory"]
# The alphabet is shorter than the dialog.
NO_LETTER = {"impulse", "shadows", "highlights", "matching", "stages", "weights", "noise", "memory"}


def check_registration():
    procedure = PDB.lookup_procedure(PROCEDURE)
    names = [argument.name for argument in procedure.get_arguments()]
    assert names == ["run-mode", "image", "drawables", *KEYS, "as-effect"], names
    assert procedure.get_menu_paths() == ["<Image>/Filters/Enhance"], procedure.get_menu_paths()
    assert procedure.get_menu_label() == "Grainless _Denoise…", procedure.get_menu_label()
    assert procedure.get_image_types() == "RGB*, GRAY*"
    assert procedure.get_help_id() and procedure.get_blurb() and procedure.get_help()
    assert procedure.get_authors() and procedure.get_copyright() and procedure.get_date()
    for argument in procedure.get_arguments():
        assert argument.blurb, argument.name
        if argument.name in KEYS and argument.name not in NO_LETTER:
            assert "_" in argument.nick, f"{argument.name} has no mnemonic"


def check_mnemonics():
    """Unique, and none that the dialog takes for itself: Reset, Cancel, OK, Help, Preset, View, Zoom."""
    nicks = [argument.nick for argument in PDB.lookup_procedure(PROCEDURE).get_arguments()
             if argument.name in KEYS and argument.name not in NO_LETTER]
    letters = [nick[nick.index("_") + 1].lower() for nick in nicks]
    assert len(set(letters)) == len(letters), sorted(letters)
    assert not set(letters) & set("rcohswz"), sorted(letters)


def check_defaults():
    """Without any argument: automatic, and the picture gets better."""
    image = new_image(width=150, height=120)
    layer = add_layer(image)
    before = noise_left(layer)
    report = denoise(image, [layer])[0]
    assert report["method"] == "bm3d" and len(report["sigma"]) == 3
    assert report["changed"] and not report["note"], report
    assert abs(report["sigma"][0] - SIGMA) < 3, report
    assert noise_left(layer) < 0.6 * before, (noise_left(layer), before)


def check_unchanged():
    cases = [{"sigma": 0.0}, {"strength": 0.0}, {"luma": 0.0, "chroma": 0.0}]
    for arguments in cases:
        image = new_image()
        layer = add_layer(image)
        before = native_bytes(layer)
        image.clean_all()
        report = denoise(image, [layer], **(QUICK | arguments))[0]
        assert not report["changed"] and report["note"], report
        assert native_bytes(layer) == before
        assert not image.is_dirty(), "an unchanged picture is marked as changed"


def check_bad_relations():
    image = new_image()
    layer = add_layer(image)
    before = native_bytes(layer)
    for arguments, sentence in (({"search": 4}, "search takes"), ({"patch": 1}, "patch takes"),
                                ({"group": 3}, "group takes"), ({"patch": 4, "step": 5}, "step can't"),
                                ({"device": "gpu"}, "device takes")):
        status, message = call(image, [layer], **arguments)
        assert status == Gimp.PDBStatusType.CALLING_ERROR, (arguments, status)
        assert sentence in message, message
    assert native_bytes(layer) == before


def check_no_display():
    """A dialog that can't be shown: one sentence, where GTK would end the filter, and GIMP call it crashed."""
    image = new_image()
    layer = add_layer(image)
    before = native_bytes(layer)
    status, message = call(image, [layer], run_mode=Gimp.RunMode.INTERACTIVE)
    assert status == Gimp.PDBStatusType.CALLING_ERROR and "no display" in message, f"{status}: {message}"
    assert native_bytes(layer) == before


def run_script(text):
    procedure = PDB.lookup_procedure("plug-in-script-fu-eval")
    config = procedure.create_config()
    config.set_property("run-mode", Gimp.RunMode.NONINTERACTIVE)
    config.set_property("script", text)
    return procedure.run(config).index(0)


def script_call(arguments):
    image = "(vector-ref (gimp-get-images) 0)"
    return (f"(script-fu-use-v3) ({PROCEDURE} #:run-mode RUN-NONINTERACTIVE #:image {image} "
            f"#:drawables (vector (vector-ref (gimp-image-get-layers {image}) 0)) {arguments})")


def check_script_fu():
    """Script-Fu and Python give the same bits."""
    image = new_image()
    expected = add_layer(image)
    layer = add_layer(image)
    denoise(image, [expected], **QUICK)
    status = run_script(script_call(f'#:method "nlm" #:auto-sigma FALSE #:sigma {SIGMA} #:search 11'))
    assert status == SUCCESS, status
    assert np.array_equal(native_pixels(layer), native_pixels(expected))


def check_unknown_value():
    """A value outside of an argument's list or range never reaches the filter."""
    image = new_image()
    layer = add_layer(image)
    procedure = PDB.lookup_procedure(PROCEDURE)
    config = procedure.create_config()
    for key, value in (("method", "median"), ("quality", ""), ("sigma", -1.0), ("sigma", 101.0), ("search", 65)):
        expected = config.get_property(key)
        config.set_property(key, value)
        assert config.get_property(key) == expected, (key, value)
    try:
        config.set_property("no-such-key", 1)
    except TypeError:
        pass
    else:
        raise AssertionError("an unknown key was taken")
    assert native_bytes(layer)


def check_last_values():
    """Repeat uses the settings of the last dialog, which GIMP keeps in a file."""
    image = new_image()
    expected, layer = add_layer(image), add_layer(image)
    arguments = {"method": "nlm", "auto_sigma": False, "sigma": 21.5, "search": 9, "chroma": 50.0}
    denoise(image, [expected], **arguments)
    folder = pathlib.Path(Gimp.directory()) / "plug-in-settings"
    folder.mkdir(exist_ok=True)
    path = folder / f"GimpProcedureConfigRun-{PROCEDURE}.last"
    path.write_text("# settings\n\n(method \"nlm\")\n(auto-sigma no)\n(sigma 21.5)\n(search 9)\n(chroma 50)\n\n"
                    "# end of settings\n", encoding="utf-8")
    denoise(image, [layer], run_mode=Gimp.RunMode.WITH_LAST_VALS)
    path.unlink()
    assert np.array_equal(native_pixels(layer), native_pixels(expected))


def check_settings_of_older_versions():
    """The file that GIMP kept of the last dialog; the newest version's has every key."""
    files = files_of_older_versions(f"GimpProcedureConfigRun-{PROCEDURE}.last")
    written = re.findall(r"^\(([\w-]+) ", files[-1].read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(written) == sorted(KEYS), set(written) ^ set(KEYS)
    folder = pathlib.Path(Gimp.directory()) / "plug-in-settings"
    folder.mkdir(exist_ok=True)
    image = new_image()
    expected = add_layer(image)
    arguments = {"method": "nlm", "quality": "fast", "auto_sigma": False, "sigma": 12.5, "strength": 80.0, "luma": 90.0,
                 "chroma": 130.0, "shadows": 150.0, "highlights": 60.0, "detail": 20.0, "impulse": "strong", "search": 9,
                 "patch": 5, "centre": "one", "weights": "classic", "scales": "2", "device": "cpu"}
    denoise(image, [expected], **arguments)
    for key, value in {"patch": 6, "shadows": 100.0, "highlights": 100.0}.items():
        other = add_layer(image)
        denoise(image, [other], **(arguments | {key: value}))
        assert not np.array_equal(native_pixels(other), native_pixels(expected)), key
    for file in files:
        layer = add_layer(image)
        (folder / file.name).write_bytes(file.read_bytes())
        denoise(image, [layer], run_mode=Gimp.RunMode.WITH_LAST_VALS)
        (folder / file.name).unlink()
        assert np.array_equal(native_pixels(layer), native_pixels(expected)), file


def check_report():
    image = new_image()
    layer = add_layer(image, name="a “name”")
    report = denoise(image, [layer], **QUICK)[0]
    keys = {"device", "fallback", "method", "sigma", "seconds", "tiles", "peak_memory", "changed", "note"}
    assert keys <= set(report), keys - set(report)
    assert set(report["seconds"]) == {"read", "estimate", "upload", "kernels", "download", "write", "total"}
    assert all(value >= 0 for value in report["seconds"].values())
    assert report["drawable"] == "a “name”" and report["tiles"] >= 1 and report["peak_memory"] > 0
    assert isinstance(report["fallback"], list)


def check_device():
    """The processor on demand; a graphics card where there is one, and where not that is said."""
    image = new_image()
    first, second = add_layer(image), add_layer(image)
    assert denoise(image, [first], device="cpu", **QUICK)[0]["device"] == "cpu"
    report = denoise(image, [second], device="cuda", **QUICK)[0]
    module = pathlib.Path(os.environ["GRAINLESS_TEST_PLUG_INS"]) / "grainless" / "grainless-cuda.so"
    if module.exists() and pathlib.Path("/dev/nvidia0").exists():
        assert report["device"].startswith("cuda") and not report["fallback"], report
        levels = np.abs(native_pixels(first).astype(int) - native_pixels(second))
        assert levels.max() <= 1, levels.max()
    else:
        assert report["device"] == "cpu" and report["fallback"], report
        assert np.array_equal(native_pixels(first), native_pixels(second))


def check_command_line():
    """The plug-in and the command line give the same bits for the same file."""
    program = os.environ["GRAINLESS_CLI"]
    image = new_image(width=150, height=110)
    layer = add_layer(image)
    source, result = WORK / "source.png", WORK / "cli.png"
    Gimp.file_save(Gimp.RunMode.NONINTERACTIVE, image, Gio.File.new_for_path(str(source)), None)
    for arguments in ({"method": "bm3d"}, {"method": "nlm", "quality": "fast"}):
        result.unlink(missing_ok=True)
        loaded = load(source)
        layer = loaded.get_layers()[0]
        denoise(loaded, [layer], **arguments)
        options = [f"--{key}={value}" for key, value in arguments.items()]
        subprocess.run([program, *options, str(source), "-o", str(result)], check=True)
        assert np.array_equal(native_pixels(load(result).get_layers()[0]), native_pixels(layer)), arguments


def cases():
    yield "registration", check_registration
    yield "mnemonics", check_mnemonics
    yield "defaults", check_defaults
    yield "sigma or strength 0 changes nothing, and says so", check_unchanged
    yield "impossible combinations are refused", check_bad_relations
    yield "unknown values and keys are refused", check_unknown_value
    yield "no display for the dialog", check_no_display
    yield "Script-Fu", check_script_fu
    yield "repeat with last values", check_last_values
    yield "settings of older versions are read", check_settings_of_older_versions
    yield "report", check_report
    yield "choice of the device", check_device
    if os.environ["GRAINLESS_CLI"]:
        yield "same result as the command line", check_command_line
