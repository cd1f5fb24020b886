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
"""
import argparse
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


def build(kind, copy):
    """True: it builds and its test passes. The copy is as before then."""
    texts = changed(kind, copy)
    before = {file: read(os.path.join(copy, file)) for file in texts
              if os.path.exists(os.path.join(copy, file))}
    write(copy, texts)
    try:
        for command in (["make", "-s", f"-j{os.cpu_count()}", "all"],
                        ["sh", "-x", os.path.join(HOME, kind, "test")]):
            ran = subprocess.run(command, cwd=copy, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, text=True, errors="replace")
            if ran.returncode:
                print(ran.stdout, end="")
                return ran.returncode == 77 and command[0] == "sh"
        return True
    finally:
        for file in texts.keys() - before.keys():
            os.unlink(os.path.join(copy, file))
        write(copy, before)


def build_all(kinds):
    copy = os.path.join(ROOT, os.environ.get("BUILD", "build"), "touch")
    failed = 0
    copy_tree(copy)
    for kind in kinds or sorted(LIMITS):
        is_well = build(kind, copy)
        failed += not is_well
        print(f"{'ok   ' if is_well else 'FAIL '} {kind}", flush=True)
    if not failed:
        shutil.rmtree(copy)
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--build", action="store_true")
    parser.add_argument("kinds", nargs="*")
    args = parser.parse_args()
    return min(1, build_all(args.kinds) if args.build else check_all())


if __name__ == "__main__":
    sys.exit(main())
