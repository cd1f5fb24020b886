# SPDX-License-Identifier: GPL-2.0-or-later
"""A recording of a program whose symbols are elsewhere, for case_symbols.py and case_symbol_servers.py."""
import os
import re
import shutil

from harness import made_once

MICROSOFT = "/_.debug/elf-buildid-sym-{}/_.debug"
MICROSOFT_FILE = "/nameless/elf-buildid-{}/nameless"
DEBUGINFOD = "/buildid/{}/debuginfo"


@made_once
def made(t):
    """A recording of a stripped program that is gone, and its debug file: (directory, build ID)."""
    cc, objcopy, strip = t.need("gcc", "objcopy", "strip")
    there = os.path.join(t.build, "tests", "symbols")
    if not os.path.exists(f"{there}/done"):
        shutil.rmtree(there, ignore_errors=True)
        os.makedirs(f"{there}/bin")
        program = f"{there}/bin/nameless"
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs", "nameless.c")
        t.run(cc, "-O0", "-g", "-Wl,--build-id", source, "-o", f"{there}/whole")
        t.run(objcopy, "--only-keep-debug", f"{there}/whole", f"{there}/nameless.debug")
        shutil.copy(f"{there}/whole", program)
        t.run(strip, program)
        t.tapir("record", "-F", 997, "--no-sched", "-f", "-o", f"{there}/nameless.tapir", "--", program, "0.6")
        shutil.rmtree(f"{there}/bin")
        open(f"{there}/done", "w", encoding="ascii").close()
    return there, build_id(t, f"{there}/whole")


def build_id(t, path):
    return re.search(r"Build ID: ([0-9a-f]+)", t.run(t.need("readelf"), "-n", path).out)[1]


def environment(t, **more):
    """Without the cache and servers of whoever runs the tests."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("DEBUGINFOD_") and not k.endswith("_proxy")}
    return {**env, "XDG_CACHE_HOME": t.path("cache"), **more}


def folded(t, file, *options, env=None, expect=0):
    result = t.run(t.tapir_path, "export", "--format", "folded", file, *options, env=env or environment(t))
    t.eq(result.rc, expect, f"exit: {result.err}")
    return result


def check_named(t, text, what):
    line = next((line for line in text.splitlines() if ";main;outer_loop;inner_loop " in line), None)
    t.ok(line, f"{what}: no stack main, outer_loop, inner_loop in\n{text[:300]}")


def check_nameless(t, text, what):
    t.ok("fn_" in text and not re.search(r"\b(inner_loop|outer_loop|main)\b", text), f"{what}:\n{text[:300]}")


def read(path):
    with open(path, "rb") as file:
        return file.read()


def cached(t):
    return sorted(os.listdir(t.path("cache/tapir/symbols"))) if os.path.exists(t.path("cache/tapir/symbols")) else []
