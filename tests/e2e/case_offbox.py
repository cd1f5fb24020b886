# SPDX-License-Identifier: GPL-2.0-or-later
"""A recording says the same on another machine: in an empty chroot, in another time zone and language,
when the target and its files are gone; and its readers look at nothing else.
"""
import os
import re
import shutil

READERS = [("report",), ("report", "--json"), ("report", "--all"), ("events",), ("events", "--json"),
           ("flamegraph",), ("flamegraph", "--pid"), ("export", "--format", "perfscript"),
           ("export", "--format", "folded")]


def record_live(t):
    """Records a copy of the burner while it runs; returns (file, target, its program)."""
    program, file = t.path("burner-of-this-case"), t.path("trace.tapir")
    shutil.copy(t.target_path("burner"), program)
    target = t.start(program, "--wait", 20000, 2)
    target.wait_line("pid ")
    tapir = t.start_tapir("record", "-F", 997, "-p", target.pid, "-o", file, "--duration", "0.8")
    tapir.wait_ready()
    target.go()
    t.eq(tapir.wait().rc, 0, "tapir record")
    return file, target, program


def empty_root(t, file):
    """A root directory with tapir, the libraries it is linked with, and the file; nothing else."""
    root = t.path("root")
    libraries = re.findall(r"(/\S+) \(0x", t.run("ldd", t.tapir_path).out)
    t.ok(len(libraries) > 3, f"libraries: {libraries}")
    for path in [*libraries, file]:
        os.makedirs(root + os.path.dirname(path), exist_ok=True)
        shutil.copy(path, root + path)
    shutil.copy(t.tapir_path, f"{root}/tapir")
    return root


def test_every_reader_says_the_same_in_an_empty_root_when_all_is_gone(t):
    chroot = t.need("chroot")
    file, target, program = record_live(t)
    here = {reader: t.tapir(*reader, file).out for reader in READERS}
    t.ok(target.child.poll() is None, "the target lived until then")
    target.kill()
    os.unlink(program)
    root = empty_root(t, file)
    elsewhere = {"TZ": "Pacific/Chatham", "LC_ALL": "tr_TR.UTF-8", "LANG": "tr_TR.UTF-8", "COLUMNS": "40"}
    for reader in READERS:
        there = t.run(chroot, root, "/tapir", *reader, file, env=elsewhere)
        t.eq(there.rc, 0, f"{reader}: {there.err}")
        t.eq(there.out, here[reader], f"{reader} in the empty root")
    for reader in READERS:
        if reader == ("report",):  # the first screen has no shares of functions where there are few samples
            t.ok("burner-of-this-" in here[reader], f"the first screen names the program: {here[reader]}")
            continue
        # A report has functions that used the CPU; a caller that did not is in a table of stacks, if a stack is there.
        for name in ("burn_much", "burn_little", *(() if reader[0] == "report" else ("start_thread",))):
            t.ok(name in here[reader], f"{reader} names {name}")


def opened(text):
    """Paths of a log of strace that were opened, or tried to be."""
    return re.findall(r'\b(?:open|openat|openat2|stat|statx|newfstatat|readlink|readlinkat|access)\('
                      r'(?:\w+, )?"([^"]*)"', text)


def test_readers_open_nothing_but_the_file_and_libraries(t):
    strace = t.need("strace")
    file, target, _ = record_live(t)
    target.kill()
    for reader in READERS:
        log = t.path("strace.log")
        t.eq(t.run(strace, "-f", "-o", log, "-e", "trace=file,network", t.tapir_path, *reader, file).rc, 0, f"{reader}")
        with open(log, encoding="utf-8") as f:
            text = f.read()
        paths = opened(text)
        t.ok(file in paths, f"the log shows that the file was opened: {paths}")
        foreign = [p for p in paths if p not in ("", file, "/etc/ld.so.cache", "/etc/ld.so.preload")
                   and not re.fullmatch(r"/(usr/)?lib(64)?/[\w./+-]*\.so[\w.]*", p)]
        t.eq(foreign, [], f"what {reader} looked at beside the file")
        t.ok("socket(" not in text and "connect(" not in text, f"{reader} opened no socket")
