#!/usr/bin/env python3
# SPDX-FileCopyrightText: The podman-machine-vmnet authors
# SPDX-License-Identifier: Apache-2.0
"""Proves that every style check can fail: each is shown a tree that breaks its rule and one that
keeps it."""

import os
import shutil
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import check  # noqa: E402

SPDX = ("// SPDX-FileCopyrightText: The podman-machine-vmnet authors\n"
        "// SPDX-License-Identifier: Apache-2.0\n\n")


class Tree(unittest.TestCase):
    def setUp(self):
        self.root = tempfile.mkdtemp(prefix="pmv-style.")
        self.addCleanup(shutil.rmtree, self.root)

    def put(self, name, text):
        path = os.path.join(self.root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def lines(self, name):
        return check.run_check(name, self.root)

    def assert_broken(self, name, words, count=1):
        lines = self.lines(name)
        self.assertEqual(sum(words in line for line in lines), count, lines)

    def assert_kept(self, name):
        self.assertEqual(self.lines(name), [])


class Includes(Tree):
    def test_wrong_arrows(self):
        self.put("base/a.c", '#include "image/image.h"\n')
        self.put("image/a.c", '#include "provider/machine.h"\n')
        self.put("cloudinit/a.c", '#include "image/image.h"\n')
        self.put("provider/a.h", '#  include "cmd/command.h"\n')
        self.put("cmd/a.c", '#include "image/qcow2.h"\n')
        self.assert_broken("includes", "must not include", 5)

    def test_short_name(self):
        self.put("base/a.c", '#include "error.h"\n')
        self.assert_broken("includes", 'as "base/error.h"')

    def test_right_arrows(self):
        self.put("base/a.c", '#include <stdio.h>\n#include "base/error.h"\n')
        self.put("image/a.c", '#include "base/error.h"\n#include "image/qcow2.h"\n')
        self.put("cmd/a.c", '#include "image/image.h"\n#include "provider/machine.h"\n')
        self.put("tests/unit/a.c", '#include "image/qcow2.h"\n#include "provider/plist.h"\n')
        self.assert_kept("includes")


class Platform(Tree):
    def test_wrong(self):
        self.put("provider/a.c", "#ifdef __APPLE__\n#endif\n#if defined(__linux__)\n#endif\n")
        self.put("base/file.c", 'int f(void) { return open("/proc/self/exe", 0); }\n')
        self.assert_broken("platform", "which system", 2)
        self.assert_broken("platform", "/proc")

    def test_right(self):
        self.put("base/platform_linux.c", '#ifdef __linux__\nchar a[] = "/proc/self";\n#endif\n')
        self.put("provider/a.c", '// __APPLE__ is for platform.h\nint on_linux; // #if linux\n')
        self.assert_kept("platform")


class Calls(Tree):
    def test_each_call(self):
        for name in check.FORBIDDEN_CALLS:
            self.put("image/a.c", f"void f(void)\n{{\n    {name}(0);\n}}\n")
            self.assert_broken("calls", f"a.c:3: {name}()")

    def test_percent_m(self):
        self.put("image/a.c", 'printf("cannot open: %m\\n");\n')
        self.assert_broken("calls", "%m")

    def test_goto(self):
        self.put("cmd/a.c", "void f(void)\n{\n    goto out;\nout:\n    return;\n}\n")
        self.assert_broken("calls", "goto")

    def test_argp(self):
        self.put("cmd/a.c", "#include <argp.h>\n")
        self.assert_broken("calls", "argp.h")

    def test_right(self):
        self.put("base/a.c", '// system() is not ours; nor sprintf(\n'
                 'int f(char *b) { return snprintf(b, 9, "popen(%d)", file_system(1)); }\n'
                 'int g(struct s *s) { return s->system(1) + strftime(b, 9, "%Y-%m-%d", t); }\n')
        self.assert_kept("calls")


class Files(Tree):
    def test_length(self):
        self.put("image/a.c", "\n" * 501)
        self.put("image/b.c", "\n" * 500)
        self.put("tests/unit/image/c.c", "\n" * 700)
        self.assert_broken("length", "a.c: 501 lines")
        self.assertEqual(len(self.lines("length")), 1)

    def test_words(self):
        self.put("a.md", "see /" + "work/main/x and https://example.org/" + "work/x\n")
        self.assert_broken("words", "a.md:1")

    def test_headers(self):
        self.put("base/a.c", "int a;\n")
        self.put("base/b.h", SPDX + "int a;\n")
        self.put("base/c.c", SPDX + "int a; \n")
        self.put("base/d.c", SPDX + "int a;")
        self.assert_broken("headers", "SPDX")
        self.assert_broken("headers", "include guard")
        self.assert_broken("headers", "blanks at the end")
        self.assert_broken("headers", "does not end in a newline")

    def test_headers_right(self):
        self.put("base/a.h", SPDX + "#ifndef BASE_A_H\n#define BASE_A_H\n\n#endif\n")
        self.assert_kept("headers")

    def test_python(self):
        self.put("a.py", "def f(:\n")
        self.assert_broken("python", "not Python")

    def test_build_folders_are_not_ours(self):
        self.put("build/base/a.c", "int a;")
        self.put("build-asan/b.sh", "echo $a")
        self.assertEqual(check.source_files(self.root), [])


class Tools(Tree):
    def test_format(self):
        shutil.copy(os.path.join(os.path.dirname(check.__file__), "../../.clang-format"),
                    self.root)
        self.put("base/a.c", SPDX + "int  f ( void ){ return 1 ; }\n")
        self.assert_broken("format", "put right by")
        self.put("base/a.c", SPDX + "int f(void)\n{\n    return 1;\n}\n")
        self.assert_kept("format")

    def test_shell(self):
        self.put("contrib/a.sh", "#!/bin/bash\ncd $1\n")
        self.assert_broken("shell", "shellcheck found")
        self.put("contrib/a.sh", "#!/bin/bash\ncd \"$1\" || exit\n")
        self.assert_kept("shell")

    def test_shell_without_suffix(self):
        self.put(".ci/run", "#!/usr/bin/env bash\nrm $1\n")
        self.assertEqual(check.shell_files(self.root), [".ci/run"])

    def test_spelling(self):
        self.put("a.md", "The mach" + "ien did not rec" + "ieve it.\n")
        self.assert_broken("spelling", "codespell found")
        self.put("a.md", "The machine did not receive it.\n")
        self.assert_kept("spelling")


if __name__ == "__main__":
    unittest.main()
