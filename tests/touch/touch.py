#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
What a stranger writes to add a thing of a kind, as samples: tests/touch/KIND/ has

  rows    "@ FILE | MARK", and lines that are inserted above the only line of FILE that is, or else has, MARK
  new/    files that are added, at their places
  test    what runs in the copy that has both, once it is built

`touch.py` checks that each sample applies, that it touches no more files than LIMITS says, and that
"Where to add things" of user/README.md names these files ("touched" stands for NAME there).
`touch.py --build [KIND ...]` builds each sample in one copy of the tree and runs its test.
`touch.py --without RUNTIME ...` (all: each of WITHOUT) deletes the runtime's files and its rows in the copy: the tree
builds, and reports of the recordings of all others in tests/corpus say what they said.
"""
import argparse
import functools
import os
import re
import shutil
import subprocess
import sys

HOME = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HOME))
PAGE = "user/README.md"

# The most files of a sample, and how the bullet of PAGE begins that tells of it.
LIMITS = {
    "view": (2, "A view"),
    "export": (3, "An export format"),
    "option": (2, "An option of a command"),
    "finding": (2, "A finding"),
    "doctor_check": (1, "A check of `tapir doctor`"),
    "record_type": (9, "A kind of record that is captured"),  # issue 38 asks for 8
}

# Runtimes that can be taken out: names of their rows, their directory, the first word of their recordings in tests/corpus.
WITHOUT = {
    "cpython": (("cpython",), "cpython", "python"),
    "erlang": (("erlang",), None, None),
    "go": (("go",), None, None),
    "luajit": (("luajit",), None, None),
    "mono": (("mono",), None, None),
    "mysql": (("mysql", "mariadb"), None, None),
    "node": (("node", "v8"), "v8", "node"),
    "perl": (("perl",), None, None),
    "php": (("php",), "php", None),
    "ruby": (("ruby",), "ruby", None),
    "rust": (("rust",), None, None),
}
# The tables that have a row of a runtime.
RUNTIME_TABLES = ("user/spec/runtime_db/lore.c", "user/runtime/interpreters.h")


def read(path):
    with open(path) as f:
        return f.read()


def new_files(kind):
    top = os.path.join(HOME, kind, "new")
    return sorted(os.path.relpath(os.path.join(at, name), top)
                  for at, _, names in os.walk(top) for name in names)


def rows(kind):
    """[(file, mark, text)]"""
    parts = re.split(r"(?m)^@ (\S+) \| (.+)\n", read(os.path.join(HOME, kind, "rows")))
    assert not parts[0], f"{kind}/rows does not begin with @"
    return list(zip(parts[1::3], parts[2::3], parts[3::3]))


def touched(kind):
    return sorted({file for file, _, _ in rows(kind)} | set(new_files(kind)))


def insert(source, file, mark, text):
    lines = source.splitlines(keepends=True)
    at = ([i for i, line in enumerate(lines) if line.strip().rstrip(",") == mark]
          or [i for i, line in enumerate(lines) if mark in line])
    if len(at) != 1:
        raise ValueError(f"{file}: {len(at)} lines have the mark '{mark}'")
    return "".join(lines[:at[0]]) + text + "".join(lines[at[0]:])


def changed(kind, root):
    """{file: its text}; ValueError: the sample does not apply."""
    texts = {}
    for file in new_files(kind):
        if os.path.exists(os.path.join(root, file)):
            raise ValueError(f"{file} is there already")
        texts[file] = read(os.path.join(HOME, kind, "new", file))
    for file, mark, text in rows(kind):
        source = texts[file] if file in texts else read(os.path.join(root, file))
        texts[file] = insert(source, file, mark, text)
    return texts


def bullet(title):
    """The bullet of PAGE that begins with the title, in one line; None: there is none."""
    page = read(os.path.join(ROOT, PAGE)).split("## Where to add things")[-1]
    found = re.search(rf"(?ms)^- \*\*{re.escape(title)}\*\*:?(.*?)(?=^- \*\*|^## |\Z)", page)
    return " ".join(found[1].split()) if found else None


def check(kind):
    limit, title = LIMITS[kind]
    faults = []
    try:
        changed(kind, ROOT)
    except (OSError, ValueError) as err:
        faults.append(str(err))
    files = touched(kind)
    if len(files) > limit:
        faults.append(f"touches {len(files)} files, more than {limit}: {' '.join(files)}")
    text = bullet(title)
    if text is None:
        return faults + [f"{PAGE} has no bullet '{title}' under \"Where to add things\""]
    for file in files:
        name = file.replace("touched", "NAME")
        if f"`{name}`" not in text and f"`{name.removeprefix('user/')}`" not in text:
            faults.append(f"{PAGE} does not name {name} under '{title}'")
    return faults


def check_all():
    failed = 0
    for kind in sorted(LIMITS):
        faults = check(kind)
        failed += bool(faults)
        for fault in faults:
            print(f"{kind}: {fault}")
    for name in sorted(os.listdir(HOME)):
        if os.path.isdir(os.path.join(HOME, name)) and name not in LIMITS and name[0] != "_":
            failed += 1
            print(f"{name}: LIMITS does not have it")
    if not failed:
        print(f"{len(LIMITS)} samples of what is added: "
              + ", ".join(f"{kind} {len(touched(kind))}" for kind in sorted(LIMITS)))
    return failed


# ---- building -------------------------------------------------------------------------------


def copy_tree(copy):
    """Sources as they are now, and what is built of them, so that little has to be built again."""
    shutil.rmtree(copy, ignore_errors=True)
    os.makedirs(copy)
    names = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                           cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
    for name in names.split("\0"):
        if os.path.lexists(os.path.join(ROOT, name)) and name:
            os.makedirs(os.path.join(copy, os.path.dirname(name)), exist_ok=True)
            shutil.copy2(os.path.join(ROOT, name), os.path.join(copy, name), follow_symlinks=False)
    subprocess.run(["git", "init", "-q", copy], check=True)
    build = os.environ.get("BUILD", "build")
    os.makedirs(os.path.join(copy, "build"))
    for name in os.listdir(os.path.join(ROOT, build)):
        if name not in ("tests", "fuzz", "touch", "faults"):
            subprocess.run(["cp", "-a", os.path.join(ROOT, build, name),
                            os.path.join(copy, "build")], check=True)


def write(root, texts):
    for file, text in texts.items():
        path = os.path.join(root, file)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as f:
            f.write(text)


def run(command, copy):
    """The exit code; what was said is printed if it is not 0."""
    ran = subprocess.run(command, cwd=copy, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    if ran.returncode:
        print(ran.stdout, end="")
    return ran.returncode


def build(kind, copy):
    """True: it builds and its test passes. The copy is as before then."""
    texts = changed(kind, copy)
    before = {file: read(os.path.join(copy, file)) for file in texts
              if os.path.exists(os.path.join(copy, file))}
    write(copy, texts)
    try:
        return (not run(["make", "-s", f"-j{os.cpu_count()}", "all"], copy)
                and run(["sh", "-x", os.path.join(HOME, kind, "test")], copy) in (0, 77))
    finally:
        for file in texts.keys() - before.keys():
            os.unlink(os.path.join(copy, file))
        write(copy, before)


def files_of_runtime(name, copy):
    _, folder, _ = WITHOUT[name]
    files = [f"user/spec/runtime_db/lore_{name}.c"]
    if folder:
        files += [f"user/runtime/{folder}/{file}" for file in os.listdir(os.path.join(copy, "user/runtime", folder))]
    return files


def rows_without(name, copy):
    """{table: its text without the runtime's rows}"""
    texts = {}
    for table in RUNTIME_TABLES:
        text = before = read(os.path.join(copy, table))
        for row in WITHOUT[name][0]:
            text = re.sub(rf"(?m)^\tX\({row}\).*\n", "", text)
        if text != before:
            texts[table] = text
    return texts


def build_without(name, copy):
    """True: without the runtime it builds, and all others are reported as with it. The copy is as before then."""
    gone = {file: read(os.path.join(copy, file)) for file in files_of_runtime(name, copy)}
    texts = rows_without(name, copy)
    if not texts:
        print(f"{name}: no table has a row of it")
        return False
    before = {file: read(os.path.join(copy, file)) for file in texts}
    corpus = os.path.join(copy, "tests/corpus")
    first_word = WITHOUT[name][2]
    others = sorted(file[:-len(".tapir")] for file in os.listdir(corpus)
                    if file.endswith(".tapir") and file.split("-")[0] != first_word)
    for file in gone:
        os.unlink(os.path.join(copy, file))
    write(copy, texts)
    try:
        return not (run(["make", "-s", f"-j{os.cpu_count()}", "build/tapir"], copy)
                    or run([sys.executable, "tests/corpus/replay.py", *others], copy))
    finally:
        write(copy, gone | before)


def build_all(jobs):
    """jobs: [(label, function of the copy that returns True if all is well)]"""
    copy = os.path.join(ROOT, os.environ.get("BUILD", "build"), "touch")
    failed = 0
    copy_tree(copy)
    for label, job in jobs:
        is_well = job(copy)
        failed += not is_well
        print(f"{'ok   ' if is_well else 'FAIL '} {label}", flush=True)
    if not failed:
        shutil.rmtree(copy)
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--build", action="store_true")
    parser.add_argument("--without", nargs="+", metavar="RUNTIME", choices=["all", *WITHOUT])
    parser.add_argument("kinds", nargs="*")
    args = parser.parse_args()
    jobs = [(kind, functools.partial(build, kind)) for kind in args.kinds or sorted(LIMITS)] if args.build else []
    without = sorted(WITHOUT) if args.without == ["all"] else args.without or []
    jobs += [(f"without {name}", functools.partial(build_without, name)) for name in without]
    return min(1, build_all(jobs) if jobs else check_all())


if __name__ == "__main__":
    sys.exit(main())
