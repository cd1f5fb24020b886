#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How many instructions tapir's own code executes for fixed inputs, held to instructions.tsv within 3 %: a slower program is seen
without a clock, whatever else the machine does.

Callgrind counts. Its counts are the same on each machine: libraries, which choose their functions by the CPU, are left out, random numbers
and the time come from steady.c, and nothing depends on addresses, the environment or the path of the clone. They are those of one compiler, which the
table names; with another one nothing is compared.

    instructions.py [--write]      --write: counts anew and writes the table (make costs)

Exit: 0 all are as they were, 1 some are not, 77 skipped (the last line says why).
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.abspath(os.environ.get("BUILD", os.path.join(ROOT, "build")))
TABLE = os.path.join(ROOT, "tests/costs/instructions.tsv")
PROGRAMS = {"tapir": os.path.join(BUILD, "tapir"), "work": os.path.join(BUILD, "tests/costs/work")}
MADE = ("--samples", "10000", "--events", "2500", "--stacks", "500", "--depth", "12", "--seconds", "40")  # made.tapir
TOLERANCE = 0.03


def skip(reason):
    print(reason)
    sys.exit(77)


def compiler():
    """Returns what the program itself says it was compiled by."""
    said = subprocess.run(["readelf", "-p", ".comment", PROGRAMS["tapir"]], check=True, capture_output=True, text=True).stdout
    return ", ".join(sorted(set(re.findall(r"GCC: .*? (\d+\.\d+\.\d+)$", said, re.M)))) or "unknown"


def read_table():
    """(the compiler, [[name, command, instructions]])"""
    with open(TABLE, encoding="utf-8") as file:
        lines = file.read().splitlines()
    rows = [line.split("\t") for line in lines if line and not line.startswith("#")]
    return next(line.split()[-1] for line in lines if line.startswith("# compiler: ")), [[name, words, int(cnt)] for name, words, cnt in rows]


def write_table(rows):
    with open(TABLE, encoding="utf-8") as file:
        head = [line for line in file if line.startswith("#") and not line.startswith("# compiler: ")]
    with open(TABLE, "w", encoding="utf-8") as file:
        file.writelines([*head, f"# compiler: gcc {compiler()}\n", *("\t".join(map(str, row)) + "\n" for row in rows)])


def place(home):
    """Puts everything that commands name into a directory: they name it without a path."""
    subprocess.run([os.path.join(BUILD, "tests/bench/make_trace"), os.path.join(home, "made.tapir"), *MADE], check=True)
    shutil.copy(os.path.join(BUILD, "tests/costs/steady.so"), home)
    for name in ("corpus/dotnet-convoy-and-slow.tapir", "corpus/jvm-idle.tapir", "data/dotnet/recorded.tsv"):
        shutil.copy(os.path.join(ROOT, "tests", name), home)


def own_cost(path, program):
    """Returns the instructions of a callgrind file that functions of the program itself executed."""
    objects, own, is_call, total = {}, False, False, 0
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            if line.startswith(("ob=", "cob=")):
                key, name = re.match(r"c?ob=(\(\d+\)) ?(.*)", line).groups()
                objects.setdefault(key, name)
                if line[0] == "o":
                    own = objects[key] == program
            elif line.startswith("calls="):
                is_call = True  # the next line has the cost of what was called
            elif line[0] in "0123456789+-*":
                total += int(line.split()[1]) if own and not is_call else 0
                is_call = False
    return total


def count(home, command):
    """Returns the instructions of one command, or what went wrong."""
    words = command.split(" ")
    program = os.path.realpath(PROGRAMS[words[0]])
    is_work = words[0] == "work"
    limits = ["--toggle-collect=counted_*"] if is_work else []
    argv = ["valgrind", "--tool=callgrind", "--vgdb=no", "--callgrind-out-file=out.%p", *limits, program, *words[1:]]
    env = {"PATH": os.environ["PATH"], "LC_ALL": "C", "TZ": "UTC", **({} if is_work else {"LD_PRELOAD": "./steady.so"})}
    child = subprocess.Popen(argv, cwd=home, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    said = child.communicate()[1]
    if child.returncode:
        return f"{command}: exit {child.returncode}: {said[-1000:]}"
    return own_cost(os.path.join(home, f"out.{child.pid}"), program)


def compare(row, now):
    """Prints a row that changed; returns whether it is what it was."""
    name, _, then = row
    if isinstance(now, str) or not now:
        print(f"{name}: {now or 'nothing was counted'}")
        return False
    change = (now - then) / then if then else 1
    if abs(change) > TOLERANCE:
        print(f"{name}: {now:,} instructions, {abs(change):.1%} {'more' if change > 0 else 'less'} than {then:,} ({row[1]})")
    return abs(change) <= TOLERANCE


def main():
    is_writing = sys.argv[1:] == ["--write"]
    if not shutil.which("valgrind"):
        skip("valgrind is not installed")
    if os.uname().machine != "x86_64":
        skip("counts are those of x86-64")
    if os.environ.get("SAN") or os.environ.get("CFLAGS"):
        skip("counts are those of a build without SAN and CFLAGS")
    known, rows = read_table()
    if not is_writing and compiler() != known:
        skip(f"built by gcc {compiler()}: counts are those of gcc {known}")
    with tempfile.TemporaryDirectory() as home:
        place(home)
        counts = [count(home, row[1]) for row in rows]
    same = [compare(row, now) for row, now in zip(rows, counts)]
    if is_writing:
        if any(isinstance(now, str) or not now for now in counts):
            return 1
        write_table([[name, command, now] for (name, command, _), now in zip(rows, counts)])
        return 0
    if not all(same):
        print("where that is meant: 'make costs' counts anew and writes tests/costs/instructions.tsv, which belongs to the same commit")
    return 0 if all(same) else 1


if __name__ == "__main__":
    sys.exit(main())
