#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
What a stranger writes to add a thing of a kind, as samples: tests/touch/KIND/ has

  rows    "@ FILE | MARK", and lines that are inserted above the only line of FILE that is, or else has, MARK
  new/    files that are added, at their places
  test    what runs in the copy that has both, once it is built

`touch.py` checks that each sample applies, that what it adds to user/ compiles, that it touches no more files than LIMITS says, and that
"Where to add things" of user/README.md names these files ("touched" stands for NAME there).
`touch.py --build [KIND ...]` builds each sample in one copy of the tree and runs its test.
`touch.py --without RUNTIME ...` (all: each row of TABLE but those of STAY) deletes the runtime's files and its row in the
copy: the tree builds, reports of the recordings of all others in tests/corpus say what they said and, unless it is one of
all, unit tests but its own pass.
"""
import argparse
import functools
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

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
    "record_type": (8, "A kind of record that is captured"),
}

# The table of runtimes, and its rows that are not taken out: what is of any program, and what is not behind its row yet.
TABLE = "user/spec/runtime_db/runtimes.h"
STAY = ("cxx", "libc", "linux")


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


def compile_errors(kind):
    """What the compiler says of the sample's own files of user/, with its rows in those that they include."""
    sources = [file for file in new_files(kind) if file.startswith("user/") and file.endswith(".c")]
    with tempfile.TemporaryDirectory() as copy:
        write(copy, changed(kind, ROOT))
        folders = [os.path.join(top, name) for top in (copy, ROOT) for name in ("user", "include")]
        flags = ["-std=gnu11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", *(f"-I{folder}" for folder in folders)]
        ran = subprocess.run([os.environ.get("CC", "cc"), *flags, *(os.path.join(copy, file) for file in sources)],
                             stderr=subprocess.PIPE, text=True, check=False) if sources else None
        return ran.stderr.replace(copy + "/", "").splitlines()[:3] if ran and ran.returncode else []


def check(kind):
    limit, title = LIMITS[kind]
    faults = []
    try:
        faults += compile_errors(kind)
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
    for name in glob.glob("tests/*/*.[do]", root_dir=os.path.join(ROOT, build)):
        os.makedirs(os.path.join(copy, "build", os.path.dirname(name)), exist_ok=True)
        shutil.copy2(os.path.join(ROOT, build, name), os.path.join(copy, "build", name))


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


def runtimes(root=ROOT):
    """[(its words, its line of TABLE)]: "	LORE(hotspot) OPS(jvm) \\\n" has the words hotspot and jvm."""
    rows_of_table = re.findall(r"(?m)^\t(?:[A-Z]+\(\w+\) )+\\\n", read(os.path.join(root, TABLE)))
    return [(list(dict.fromkeys(re.findall(r"\((\w+)\)", row))), row) for row in rows_of_table]


def files_of_runtime(words, copy):
    """Its directory, and what is known of it."""
    files = [f"user/spec/runtime_db/lore_{word}.c" for word in words]
    for word in words:
        folder = f"user/runtime/{word}"
        files += [os.path.relpath(os.path.join(at, name), copy)
                  for at, _, names in os.walk(os.path.join(copy, folder)) for name in names]
    return [file for file in files if os.path.exists(os.path.join(copy, file))]


def belongs(words, file):
    """A test is of a runtime whose word is in its name, or in a line "runtimes: jvm dotnet" of its text."""
    parts = re.split(r"[_.]", os.path.basename(file))
    named = re.search(r"(?m)^(?://| \*) runtimes: (.*)", read(file))
    return any(word in parts or named and word in named[1].split() for word in words)


def unit_tests(words, copy):
    """(those of the runtime, which are as gone as it is, all others)"""
    folder = os.path.join(copy, "tests/unit")
    tests = sorted(name for name in os.listdir(folder) if re.fullmatch(r"test_\w+\.c", name))
    of_it = [name for name in tests if belongs(words, os.path.join(folder, name))]
    return of_it, [name for name in tests if name not in of_it]


def run_units(tests, copy):
    """True: all pass. A skipped one says 77."""
    bins = [f"build/tests/unit/{name[:-2]}" for name in tests]
    if run(["make", "-s", f"-j{os.cpu_count()}", *bins], copy):
        return False
    failed = [name for name in bins if run([name], copy) not in (0, 77)]
    print("".join(f"     {name} fails\n" for name in failed), end="")
    return not failed


def build_without(name, with_units, copy):
    """True: without the runtime it builds, unit tests pass but for its own, and recordings of others say what they said. The copy is as
    before then."""
    words, row = next((words, row) for words, row in runtimes(copy) if name in words)
    of_it, others = unit_tests(words, copy)
    gone = {file: read(os.path.join(copy, file)) for file in files_of_runtime(words, copy) + [f"tests/unit/{test}" for test in of_it]}
    table = read(os.path.join(copy, TABLE))
    recordings = sorted(file[:-len(".tapir")] for file in os.listdir(os.path.join(copy, "tests/corpus"))
                        if file.endswith(".tapir") and not any(word.endswith(file.split("-")[0]) for word in words))
    for file in gone:
        os.unlink(os.path.join(copy, file))
    write(copy, {TABLE: table.replace(row, "")})
    try:
        return not (run(["make", "-s", f"-j{os.cpu_count()}", "build/tapir"], copy)
                    or run([sys.executable, "tests/corpus/replay.py", *recordings], copy)
                    or with_units and not run_units(others, copy))
    finally:
        write(copy, gone | {TABLE: table})


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
    parser.add_argument("--without", nargs="+", metavar="RUNTIME", choices=["all", *(word for words, _ in runtimes() for word in words)])
    parser.add_argument("kinds", nargs="*")
    args = parser.parse_args()
    jobs = [(kind, functools.partial(build, kind)) for kind in args.kinds or sorted(LIMITS)] if args.build else []
    without = [words[-1] for words, _ in runtimes() if words[0] not in STAY] if args.without == ["all"] else args.without or []
    jobs += [(f"without {name}", functools.partial(build_without, name, args.without != ["all"])) for name in without]
    return min(1, build_all(jobs) if jobs else check_all())


if __name__ == "__main__":
    sys.exit(main())
