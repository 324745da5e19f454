#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The manual page and the shell completion of the command line, from what it says of itself: describe.py man|bash PROGRAM

Every option comes from the program's --help, which comes from the table of parameters: neither can forget one.
"""
import re
import subprocess
import sys

COMMANDS = ["devices", "presets", "estimate", "metrics"]
INDENT = " " * 30  # where CLI11 begins descriptions (kHelpColumn)
NAMES = re.compile(r"  (-[\w,-]+(?: [A-Z|/]+(?::[A-Z]+)?(?: in \[[^\]]*\])?)?(?: \.\.\.)?(?: REQUIRED)?)(?:\s+(.*))?")

PAGE = """\
.\\" Made by packaging/cli/describe.py from grainless --help.
.TH GRAINLESS 1 "" "{version}" "User Commands"
.SH NAME
grainless \\- take the noise out of photographs
.SH SYNOPSIS
.B grainless
.RI [ OPTIONS ]
.IR INPUT ...
.B \\-o
.I OUTPUT
.br
.B grainless
.BR devices | presets | estimate | metrics
.RI [ OPTIONS ]
.SH DESCRIPTION
Measures how strong the noise of a picture is and removes it, with BM3D, Non\\-Local Means or a cosine transform, on an
NVIDIA graphics card where there is one and on the processor where there is none, with the same result.
It is the engine of the GIMP plug\\-in Grainless.
It reads and writes PNG, TIFF, JPEG, PNM and PFM, and keeps colour profile, resolution and metadata.
Inputs are never overwritten.
{options}{commands}.SH EXIT STATUS
.TP
.B 0
done
.TP
.B 1
bad input or parameters
.TP
.B 2
device failure without a fall\\-back
.TP
.B 3
cancelled
.SH EXAMPLES
.nf
grainless photo.png \\-o clean.png
grainless \\-\\-preset high\\-iso photo.jpg \\-o clean.jpg
grainless \\-\\-method nlm \\-\\-sigma 12 *.tif \\-o cleaned/
grainless \\-\\-depth 7 burst/*.png \\-o burst.tif
.fi
.SH FILES
.TP
.I ~/.config/GIMP/3.*/grainless/presets
presets saved in GIMP, which
.B \\-\\-preset
takes by name
.SH SEE ALSO
.BR gimp (1)
"""

COMPLETION = """\
# bash completion for grainless. Made by packaging/cli/describe.py from grainless --help.
# Presets are others' files too: what they are called is never read as shell code, neither here nor where it lands.
_grainless_presets() {{
    local names forms i mark= typed=$2 escape=
    mapfile -t names < <("$1" presets 2>/dev/null | sed -n 's/^\\([^:]*\\):.*/\\1/p')
    ((${{#names[@]}})) || return
    # What follows an opening quote is put behind it.
    [[ $typed == [\\'\\"]* ]] && mark=${{typed:0:1}} typed=${{typed:1}}
    case $mark in
        \\') escape="s/'/'\\\\\\\\''/g" ;;
        \\") escape='s/[\\\\"$`]/\\\\&/g' ;;
    esac
    if [[ $mark ]]; then
        mapfile -t forms < <(printf '%s\\n' "${{names[@]}}" | sed "$escape")
    else
        mapfile -t forms < <(printf '%q\\n' "${{names[@]}}")
    fi
    for i in "${{!names[@]}}"; do
        if [[ ${{names[i]}} == "$typed"* || ${{forms[i]}} == "$typed"* ]]; then COMPREPLY+=("${{forms[i]}}"); fi
    done
}}
_grainless() {{
    local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD - 1]}} words=
    COMPREPLY=()
    # Of --method=nlm bash makes three words.
    if [[ $current == = ]]; then
        current=
    elif [[ $previous == = ]] && ((COMP_CWORD > 2)); then
        previous=${{COMP_WORDS[COMP_CWORD - 2]}}
    fi
    case $previous in
{values}        --preset) _grainless_presets "${{COMP_WORDS[0]}}" "$current" && return ;;
    esac
    if [[ ! $words && $current == -* ]]; then
        case ${{COMP_WORDS[1]}} in
{options}        esac
    elif [[ ! $words ]] && ((COMP_CWORD == 1)); then
        words="{commands}"
    fi
    # Words of this file alone: compgen expands what it is given. Names of files join by the option -o default.
    local IFS=$' \\t\\n'
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}}
complete -o default -F _grainless grainless
"""


def ask(program, *arguments):
    return subprocess.run([program, *arguments], capture_output=True, text=True, check=True).stdout


def read_help(text):
    """[(group, [(names, description)])] of a --help."""
    groups = []
    for line in text.splitlines():
        if re.fullmatch(r"[A-Z][a-z ]+:", line):
            groups.append((line[:-1], []))
        elif groups and (match := NAMES.fullmatch(line)):
            groups[-1][1].append([match[1], match[2] or ""])
        elif groups and groups[-1][1] and line.startswith(INDENT):
            groups[-1][1][-1][1] += " " + line.strip()
    return [(name, entries) for name, entries in groups if entries]


def long_names(groups):
    return [name for _, entries in groups for names, _ in entries for name in re.findall(r"--[\w-]+", names)]


def roff(text):
    text = text.strip().replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text[:1] in (".", "'") else text


def roff_options(groups):
    lines = []
    for names, description in (entry for _, entries in groups for entry in entries):
        names = re.sub(r":[A-Z]+(?: in \[.*\])?| REQUIRED", "", names)
        option, _, value = names.partition(" ")
        lines.append(f".TP\n.B {roff(option.replace(',', ', '))}" + (f" \\fI{roff(value)}\\fR" if value else ""))
        lines.append(roff(description))
    return "\n".join(lines) + "\n"


def man_page(program):
    main = read_help(ask(program, "--help"))
    options = "".join(f".SH {name.upper()}\n{roff_options([(name, entries)])}" for name, entries in main)
    commands = ".SH OTHER COMMANDS\n"
    for command in COMMANDS:
        text = ask(program, command, "--help")
        about = " ".join(text.split("Usage:", maxsplit=1)[0].split())
        commands += f".SS grainless {command}\n{roff(about)}\n{roff_options(read_help(text))}"
    return PAGE.format(version=ask(program, "--version").splitlines()[0], options=options, commands=commands)


def completion(program):
    main = read_help(ask(program, "--help"))
    values = ""
    for names, description in (entry for _, entries in main for entry in entries):
        if choices := re.search(r"Takes (\S+\|\S+?)\. Default", description):
            values += f"        {long_names([('', [(names, '')])])[0]}) words=\"{choices[1].replace('|', ' ')}\" ;;\n"
    options = ""
    for command in COMMANDS:
        names = long_names(read_help(ask(program, command, "--help")))
        options += f"            {command}) words=\"{' '.join(names)}\" ;;\n"
    options += f"            *) words=\"{' '.join(long_names(main))}\" ;;\n"
    return COMPLETION.format(values=values, options=options, commands=" ".join(COMMANDS))


def main():
    kind, program = sys.argv[1:]
    sys.stdout.write({"man": man_page, "bash": completion}[kind](program))


if __name__ == "__main__":
    main()
