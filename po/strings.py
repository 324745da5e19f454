# SPDX-License-Identifier: MIT
"""The strings that users read, as the sources have them."""
import re
import subprocess

MARKS = ("_", "N_", "ngettext", "sentence", "packed_sentence")
OPTIONS = ["--language=C++", "--from-code=UTF-8", "--no-location", "--keyword", "--keyword=_", "--keyword=N_",
           "--keyword=ngettext:1,2", "--keyword=sentence", "--keyword=packed_sentence", "--flag=sentence:1:c-format",
           "--flag=packed_sentence:1:c-format", "--package-name=grainless", "--copyright-holder=The Grainless authors",
           "--add-comments=TRANSLATORS"]
FOLDERS = ("engine", "cuda", "ui", "plugin")
SPEAKING = ("ui", "plugin")  # whatever looks like words there is for users
# Words for GIMP's plug-in browser and the like, the same in every language.
NAMES = {"The Grainless authors", "The Grainless authors, MIT", "Grainless", "CPU"}
# What takes words that no user reads: names of files, of babl's formats.
SILENT = ("#include", "g_debug(", "babl_format(", "babl_format_with_space(")
# Errors of these kinds reach users; others are the program's own mistakes, or a cancel that nobody reads about.
USERS_ERRORS = "kBadInput|kBadParameter|kDeviceUnavailable|kDeviceFailed"

# A comment, a character, or a run of string literals with what stands before it.
TOKEN = re.compile(r"""//[^\n]*|/\*.*?\*/|'(?:[^'\\\n]|\\.)+'|(?P<run>"(?:[^"\\\n]|\\.)*"(?:\s*"(?:[^"\\\n]|\\.)*")*)""",
                   re.S)


def sources(root, folders=FOLDERS):
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".cpp", ".h", ".cu", ".cuh"):
                yield path


def literals(text):
    """(line, what stands before, the joined string) of every run of literals."""
    for token in TOKEN.finditer(text):
        if token["run"]:
            before = text[:token.start()].rstrip()
            joined = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', token["run"]))
            yield text.count("\n", 0, token.start()) + 1, before[-120:], joined


def is_marked(before):
    plural = re.search(r'ngettext\(\s*"[^"]*",$', before)
    return plural or re.search(rf"(?<![A-Za-z0-9])(?:{'|'.join(MARKS)})\($", before) is not None


def looks_like_words(text):
    plain = re.sub(r"\\.|%[-+0-9.]*[a-z%]", " ", text)
    return re.search(r"[A-Za-z]{2,},? [a-z]{2,}", plain) or re.fullmatch(r"_?[A-Z]_?[a-z]{2,}[…:]?", plain)


def unmarked_strings(root):
    for path in sources(root):
        text = path.read_text(encoding="utf-8")
        speaks = path.relative_to(root).parts[0] in SPEAKING
        for line, before, string in literals(text):
            if is_marked(before) or string in NAMES or before.endswith(SILENT):
                continue
            error = re.search(rf"ErrorCode::(?:{USERS_ERRORS}),$", before) and path.suffix == ".cpp"
            if error or (speaks and looks_like_words(string) and "g_object_new" not in before):
                yield f"{path.relative_to(root)}:{line}: \"{string}\" is not marked for translation"


def marked_files(root):
    return [str(path.relative_to(root)) for path in sources(root)
            if path.suffix in (".cpp", ".cu") and has_marks(path.read_text(encoding="utf-8"))]


def has_marks(text):
    return any(is_marked(before) for _, before, _ in literals(text))


def extract(root, files=None):
    """The text of a template."""
    run = subprocess.run(["xgettext", *OPTIONS, "--output=-", *(files or marked_files(root))], cwd=root, check=True,
                         capture_output=True, text=True)
    return "\n\n".join(without_guess(entry) for entry in run.stdout.rstrip("\n").split("\n\n")) + "\n"


def without_guess(entry):
    """xgettext takes the "% a" of "100 % and" for a directive; nobody here writes one with a space."""
    if re.search(r"%(\d\$)?[-+0]*\d*(\.\d+)?[a-z%]", entry.split("msgid", 1)[-1]):
        return entry
    return entry.replace("#, c-format\n", "")
