#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What tapir asks of the kernel: the instructions that its verifier goes through for each BPF program, within 10 % of kernel.tsv, and the
system calls until 500 probes of a process are attached, at most 10 % more.

Both are of one release of the kernel and one compiler of BPF, which rows name: where there are no rows, the numbers are printed and nothing is compared.

    kernel.py [--write]      --write: counts anew and writes the rows of this kernel (make costs)

Exit: 0 all are as they were, 1 some are not, 77 skipped (the last line says why).
"""
import os
import re
import shutil
import subprocess
import sys

from instructions import BUILD, ROOT, skip

sys.path[:0] = [os.path.join(ROOT, "tests/e2e")]
import harness  # noqa: E402
from run import may_lack_capabilities  # noqa: E402

TABLE = os.path.join(ROOT, "tests/costs/kernel.tsv")
TOLERANCE = 0.10
ATTACH = "attach 500 probes"
# Without those that each CPU needs, and those whose number depends on who is faster.
CALLS = ("bpf", "openat", "clone3")


def clang():
    path = shutil.which(os.environ.get("CLANG", "clang"))
    said = subprocess.run([path, "-dumpversion"], capture_output=True, text=True, check=True).stdout if path else "none"
    return said.strip()


def read_table():
    """{(kernel, clang, name): count}, and the lines above."""
    with open(TABLE, encoding="utf-8") as file:
        lines = file.read().splitlines()
    rows = (line.split("\t") for line in lines if not line.startswith("#"))
    return {(kernel, by, name): int(cnt) for kernel, by, name, cnt in rows}, [line for line in lines if line.startswith("#")]


def verified(t):
    """{program: instructions}"""
    result = t.run(os.path.join(BUILD, "tests/costs/verified"), timeout=60)
    t.eq(result.rc, 0, f"verified: {result.err}")
    return {name: int(cnt) for name, cnt in (line.split("\t") for line in result.out.splitlines())}


def calls_until_attached(t):
    """Returns the system calls of `tapir record` before it says that it has attached."""
    target = t.target("manysites", "--wait")
    log = t.path("calls")
    tapir = t.start("strace", "-f", "-qq", "-s", "200", "-o", log, "-e", "signal=none", "-e", "trace=write," + ",".join(CALLS), t.tapir_path, "record",
                    "manysites:*", "--force", *harness.EVENTS_ONLY, "-p", target.pid, "-o", t.path("calls.tapir"))
    tapir.wait_ready(timeout=60)
    target.go()
    target.wait()
    t.eq(tapir.wait(60).rc, 0, "record below strace")
    with open(log, encoding="utf-8", errors="replace") as file:
        before, is_ready, _ = file.read().partition(harness.READY)
    t.ok(is_ready, "the line is in the log")
    return len(re.findall(rf"^\d+ +(?:{'|'.join(CALLS)})\(", before, re.M))


def count():
    """{name: count}"""
    t = harness.Case(BUILD)
    try:
        return {**verified(t), ATTACH: calls_until_attached(t)}
    finally:
        t.close()


def is_same(name, then, now):
    """Prints a row that changed; returns whether it is what it was."""
    change = (now - then) / then
    if change > TOLERANCE or change < -TOLERANCE and name != ATTACH:
        print(f"{name}: {now:,}, {abs(change):.1%} {'more' if change > 0 else 'less'} than {then:,}")
        return False
    return True


def main():
    if os.environ.get("SAN"):
        skip("a sanitizer makes calls of its own")
    if os.geteuid() or may_lack_capabilities():
        skip("loading BPF programs needs root and its capabilities")
    if not shutil.which("strace"):
        skip("strace is not installed")
    known, head = read_table()
    # Two builds of one release (6.18.44-fc-v657 and -v857) agreed in each row.
    here = os.uname().release.split("-")[0], clang()
    of_here = {name: cnt for (kernel, by, name), cnt in known.items() if (kernel, by) == here}
    try:
        now = count()
    except (harness.Failure, harness.Skip) as reason:
        if of_here:
            raise
        skip(f"no rows for Linux {here[0]} and clang {here[1]}, and no numbers: {reason}")
    if sys.argv[1:] == ["--write"]:
        rows = {**{key: cnt for key, cnt in known.items() if key[:2] != here}, **{(*here, name): cnt for name, cnt in now.items()}}
        with open(TABLE, "w", encoding="utf-8") as file:
            file.writelines([*(line + "\n" for line in head), *("\t".join(map(str, (*key, rows[key]))) + "\n" for key in sorted(rows))])
        return 0
    if not of_here:
        print("\n".join(f"{name}: {cnt:,}" for name, cnt in now.items()))
        skip(f"no rows for Linux {here[0]} and clang {here[1]}: 'make costs' adds them")
    if now.keys() != of_here.keys():
        print(f"other programs: {', '.join(sorted(now.keys() ^ of_here.keys()))}")
    same = [is_same(name, of_here[name], now[name]) for name in now.keys() & of_here.keys()]
    if all(same) and now.keys() == of_here.keys():
        return 0
    print("where that is meant: 'make costs' counts anew and writes tests/costs/kernel.tsv, which belongs to the same commit")
    return 1


if __name__ == "__main__":
    sys.exit(main())
