#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Can the checkers fail? Each gets small trees with one thing wrong, and one with nothing: checkers_test.py SOURCE_ROOT"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest

ROOT = pathlib.Path(sys.argv.pop(1)).resolve()
TOOLS = ROOT / "tools/dev"
os.environ.pop("GRAINLESS_CLANG_AHEAD", None)  # of the run of all tests, which this is a part of
LINES = [f"  total += weight_{i} * value[{i}];" for i in range(10)]


class Checker(unittest.TestCase):
    script = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def write(self, **files):
        """Names come with __ for / and _dot_ for the last dot."""
        for name, text in files.items():
            path = self.root / name.replace("__", "/").replace("_dot_", ".")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")

    def check(self, *arguments):
        done = subprocess.run([sys.executable, self.script, self.root, *arguments], capture_output=True, text=True, check=False)
        self.assertEqual(done.stderr, "")
        return done.returncode, done.stdout

    def passes(self, *arguments):
        status, said = self.check(*arguments)
        self.assertEqual(status, 0, said)

    def fails(self, *words, arguments=()):
        status, said = self.check(*arguments)
        self.assertEqual(status, 1, said)
        for word in words:
            self.assertIn(word, said)

    def allow(self, text):
        path = self.root / "allowed"
        path.write_text("# a comment\n\n" + text + "\n", encoding="utf-8")
        return path


class Layers(Checker):
    script = ROOT / "tests/check_layers.py"

    def test_what_is_allowed(self):
        self.write(engine__boundary__plan_dot_h="#include <cstdint>\n", engine__cpu__filter_dot_h="#include <hwy/highway.h>\n",
                   engine__denoise_dot_h='#include "engine/boundary/plan.h"\n',
                   engine__denoise_dot_cpp='#include "denoise.h"\n#include "cpu/filter.h"\n',
                   cuda__kernel_dot_cu='#include <cuda_runtime.h>\n#include "engine/boundary/plan.h"\n',
                   ui__dialog_dot_cpp='#include <gtk/gtk.h>\n',
                   plugin__main_dot_cpp='#include <gegl.h>\n#include "ui/dialog.h"\n',
                   tools__main_dot_cpp='#include "engine/denoise.h"\n')
        self.passes()

    def test_a_layer_above(self):
        self.write(engine__denoise_dot_cpp='#include "tools/image.h"\n', tools__image_dot_h="")
        self.fails("engine/denoise.cpp: engine/ may not use tools/image.h")

    def test_the_host_in_the_engine(self):
        self.write(engine__denoise_dot_cpp="#include <libgimp/gimp.h>\n")
        self.fails("engine/ may not use <libgimp/gimp.h>")

    def test_cuda_outside_its_module(self):
        self.write(plugin__main_dot_cpp="#include <cuda_runtime.h>\n")
        self.fails("plugin/ may not use <cuda_runtime.h>")

    def test_past_the_boundary(self):
        self.write(cuda__kernel_dot_cu='#include "engine/params/params.h"\n', engine__params__params_dot_h="")
        self.fails("cuda/ may not use engine/params/params.h")

    def test_through_a_header(self):
        self.write(cuda__kernel_dot_cu='#include "engine/boundary/plan.h"\n',
                   engine__boundary__plan_dot_h='#include "engine/params/params.h"\n', engine__params__params_dot_h="")
        self.fails("cuda/kernel.cu: cuda/ may not use engine/params/params.h (engine/boundary/plan.h > engine/params/params.h)",
                   "engine/boundary/plan.h: engine/boundary/ may not use engine/params/params.h")

    def test_what_is_private(self):
        self.write(tools__main_dot_cpp='#include "engine/cpu/filter.h"\n', engine__cpu__filter_dot_h="")
        self.fails("tools/main.cpp: engine/cpu/filter.h is private to engine/")


class Links(Checker):
    script = ROOT / "tests/check/links.py"
    guide = "# How it works\n\n## The noise (`engine/noise/`)\n"

    def test_what_is_allowed(self):
        self.write(README_dot_md="[a](docs/guide.md) [b](docs/guide.md#the-noise-enginenoise) [c](#use-it) "
                   "[d](docs/manual.html#presets) [e](https://example.com/x)\n\n## Use it\n", docs__guide_dot_md=self.guide,
                   docs__manual_dot_html='<h2 id="presets">Presets</h2>')
        self.passes()

    def test_a_page_that_is_gone(self):
        self.write(docs__guide_dot_md="[a](gone.md)\n")
        self.fails("docs/guide.md: there is no gone.md")

    def test_headings_that_are_gone(self):
        self.write(README_dot_md="[a](docs/guide.md#noise) [b](docs/manual.html#presets)\n", docs__guide_dot_md=self.guide,
                   docs__manual_dot_html="")
        self.fails("README.md: docs/guide.md#noise leads to no heading",
                   "README.md: docs/manual.html#presets leads to no heading")


class Duplicates(Checker):
    script = TOOLS / "duplicates.py"

    def copies(self, first, second):
        self.write(engine__a_dot_cpp="int a() {\n" + "\n".join(first) + "\n}\n",
                   tests__b_dot_cpp="int b(\n    int c) {\n" + "\n".join(second) + "\n}\n")

    def test_a_copy(self):
        self.copies(LINES, LINES)
        self.fails("engine/a.cpp:2 and tests/b.cpp:3 say the same for 10 lines")

    def test_a_copy_with_other_comments_and_spaces(self):
        self.copies(LINES, [f"\t{line.strip()}  // why\n\n  {{" for line in LINES])
        self.fails("engine/a.cpp:2 and tests/b.cpp:3")

    def test_too_short_a_copy(self):
        self.copies(LINES[:9], LINES[:9])
        self.passes()

    def test_a_word_makes_a_difference(self):
        self.copies(LINES, LINES[:5] + ["  total = 0;"] + LINES[5:])
        self.passes()

    def test_a_copy_within_a_file(self):
        self.write(dev="\n".join(LINES) + "\nbetween\n" + "\n".join(LINES) + "\n")
        self.fails("dev:1 and dev:12 say the same for 10 lines")

    def test_a_python_copy(self):
        body = "".join(f"    total += weights[{i}]  # {{}}\n" for i in range(10))
        self.write(tools__dev__a_dot_py='"""Says a."""\n' + body.replace("    ", ""),
                   tests__b_dot_py='def b():\n    """Says\n    b."""\n' + body.replace("{}", "#"))
        self.fails("tools/dev/a.py:2 and tests/b.py:4")

    def test_what_is_allowed(self):
        self.copies(LINES, LINES)
        self.passes(self.allow("10 engine/a.cpp tests/b.cpp a twin"))
        self.fails("engine/a.cpp:2", arguments=[self.allow("9 engine/a.cpp tests/b.cpp a twin")])

    def test_a_list_that_allows_too_much(self):
        self.copies(LINES, LINES)
        self.fails("shorten the list", arguments=[self.allow("11 engine/a.cpp tests/b.cpp a twin")])
        self.copies(LINES, [])
        self.fails("shorten the list", arguments=[self.allow("10 engine/a.cpp tests/b.cpp a twin")])


class Unused(Checker):
    script = TOOLS / "unused.py"

    def test_what_is_used(self):
        self.write(engine__a_dot_h="int32_t area(int32_t side);\nstruct Tile {\n  int32_t rows() const { return 1; }\n};\n",
                   engine__a_dot_cpp="int32_t area(int32_t side) {\n  return side * side;\n}\n",
                   tools__main_dot_cpp="int main() {\n  return area(Tile().rows());\n}\n")
        self.passes()

    def test_a_call_behind_a_condition_is_no_declaration(self):
        self.write(engine__a_dot_h="struct Walk {\n  void run() const {\n    if (left > 0) go_on(left);\n  }\n"
                                   "  void go_on(int32_t steps) const {}\n  int32_t left;\n};\n",
                   tools__main_dot_cpp="int main() {\n  Walk().run();\n}\n")
        self.passes()

    def test_a_function(self):
        self.write(engine__a_dot_h="int32_t area(int32_t side);\n",
                   engine__a_dot_cpp="// area() is large\nint32_t area(int32_t side) {\n  return side * side;\n}\n")
        self.fails("engine/a.h: nobody uses area")

    def test_a_method(self):
        self.write(engine__a_dot_h="struct Tile {\n  int32_t rows() const;\n};\n",
                   engine__a_dot_cpp="int32_t Tile::rows() const {\n  return 1;\n}\nvoid f(const Tile& tile) {\n}\n")
        self.fails("engine/a.h: nobody uses rows")

    def test_a_constant_and_a_type(self):
        self.write(engine__a_dot_h="inline constexpr int32_t kSide = 8;\nstruct Tile {\n};\n")
        self.fails("nobody uses Tile", "nobody uses kSide")

    def test_what_only_tests_use(self):
        self.write(engine__a_dot_h="int32_t area(int32_t side);\n", tests__a_test_dot_cpp="TEST(A, B) {\n  area(1);\n}\n")
        self.fails("engine/a.h: only tests use area")

    def test_what_one_file_uses(self):
        self.write(engine__a_dot_h="int32_t area(int32_t side);\n",
                   engine__a_dot_cpp="int32_t area(int32_t side) {\n  return side;\n}\nint32_t f() {\n  return area(1);\n}\n")
        self.fails("engine/a.h: only engine/a.cpp uses area, and defines it")

    def test_what_is_allowed(self):
        self.write(engine__a_dot_h="int32_t area(int32_t side);\n")
        self.passes(self.allow("area is wanted by a module"))
        self.write(tools__main_dot_cpp="int main() {\n  return area(1);\n}\n")
        self.fails("area is used", arguments=[self.allow("area is wanted by a module")])


@unittest.skipUnless(shutil.which("clang-tidy-19"), "clang-tidy-19 is not installed")
class Clang(Checker):
    script = TOOLS / "clang_checks.py"

    def arguments(self, text, header=""):
        command = "c++ -std=c++20 -Wall -Wconversion -I.. -c ../engine/a.cpp"
        entry = {"directory": str(self.root / "build"), "command": command, "file": "../engine/a.cpp"}
        for name, content in (("build/compile_commands.json", json.dumps([entry])), ("engine/a.cpp", text),
                              ("engine/a.h", header)):
            path = self.root / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(content, encoding="utf-8")
        shutil.copy(ROOT / ".clang-tidy", self.root)
        return self.root / "build", "clang-tidy-19"

    def test_nothing(self):
        self.passes(*self.arguments("int twice(int value) {\n  return 2 * value;\n}\n"))

    def test_a_warning(self):
        self.fails("engine/a.cpp", "implicit-int-float-conversion",
                   arguments=self.arguments("float half(int value) {\n  return value / 2;\n}\n"))

    def test_a_name(self):
        self.fails("engine/a.cpp", "readability-identifier-naming",
                   arguments=self.arguments("int Twice(int value) {\n  return 2 * value;\n}\n"))

    def test_what_was_begun_ahead(self):
        arguments = self.arguments("int twice(int value) {\n  return 2 * value;\n}\n")
        folder = self.root / "ahead"
        os.environ["GRAINLESS_CLANG_AHEAD"] = str(folder)
        self.addCleanup(os.environ.pop, "GRAINLESS_CLANG_AHEAD")
        finding = 'sleep 0.5; echo "a finding" >"$0/found"; echo 1 >"$0/status"; sleep 9'
        for script, is_told in ((finding, True), ("sleep 0.5", False)):
            folder.mkdir()
            with subprocess.Popen(["bash", "-c", script, folder]) as ahead:
                (folder / "process").write_text(f"{ahead.pid}\n", encoding="utf-8")
                if is_told:
                    self.fails("a finding", arguments=arguments)
                else:
                    threading.Thread(target=ahead.wait).start()
                    self.passes(*arguments)  # which has looked itself
                ahead.kill()
            shutil.rmtree(folder)

    def test_a_header(self):
        self.fails("engine/a.h", "readability-identifier-naming",
                   arguments=self.arguments('#include "engine/a.h"\n', "inline int Twice(int value) {\n  return 2 * value;\n}\n"))


if __name__ == "__main__":
    unittest.main()
