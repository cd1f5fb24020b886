#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What it costs a program to be held: recorded with a holder, and in turn without (no CAP_SYS_PTRACE).

Four programs that stop often under a tracer: a JVM with 10,000 implicit null checks a second, Go that preempts
goroutines by SIGURG for a collection every 10 ms, a thread preempted by SIGURG 100 times a second, `make -j2` of 1,000 short processes. The goal is 0.97 of the speed
without a holder, by the processor time of the program and its children and by the clock, the best of several
pairs each. Usage: hold.py [--build DIR] [--pairs N] [--only TEXT]
"""
import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time

NULLS = """
public final class Nulls {
    int value;
    static int get(Nulls n) { return n.value; }
    public static void main(String[] args) {
        long rounds = Long.parseLong(args[0]), sum = 0, caught = 0;
        Nulls some = new Nulls();
        for (long i = 0; i < rounds; i++) {
            for (int k = 0; k < 150000; k++) { some.value = k; sum += get(some); }
            try { sum += get(null); } catch (NullPointerException e) { caught++; }
        }
        System.out.println(caught);
    }
}
"""

MAKEFILE = """
N := $(shell seq 1000)
all: $(N)
$(N):
\t@/bin/true $@ >/dev/null
.PHONY: all $(N)
"""

WITHOUT = ("setpriv", "--bounding-set", "-sys_ptrace", "--inh-caps", "-sys_ptrace")
GOAL = 0.97


def programs(build, directory):
    """(name, argv) of what can run here."""
    found = []
    if shutil.which("javac"):
        with open(f"{directory}/Nulls.java", "w", encoding="ascii") as source:
            source.write(NULLS)
        subprocess.run(["javac", "Nulls.java"], cwd=directory, check=True)
        found.append(("JVM, null checks", ["java", "-XX:TieredStopAtLevel=1", "-XX:-OmitStackTraceInFastThrow", "-cp", directory,
                                           "Nulls", "30000"]))
    if shutil.which("go"):
        program, env = f"{directory}/tight", {**os.environ, "GO111MODULE": "off", "GOCACHE": f"{build}/tests/gocache"}
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e", "programs", "tight.go")
        subprocess.run(["go", "build", "-o", program, source], env=env, check=True)
        found.append(("Go, tight loops", [program, "4000000000", "0"]))
    found.append(("SIGURG, 100 Hz", [f"{build}/tests/targets/preempted", "--work", "8000000000"]))
    with open(f"{directory}/Makefile", "w", encoding="ascii") as makefile:
        makefile.write(MAKEFILE)
    found.append(("make, 1,000 processes", ["make", "-s", "-j2", "-C", directory]))
    return found


def measure(file, argv):
    """Runs inside the recording: seconds of processor time of a program and its children, and by the clock."""
    began = time.monotonic()
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    with open(file, "w", encoding="ascii") as out:
        print(used.ru_utime + used.ru_stime, time.monotonic() - began, file=out)


def run(build, directory, argv, has_holder):
    """Seconds of processor time, and by the clock."""
    subprocess.run([*([] if has_holder else WITHOUT), f"{build}/tapir", "record", "storm:*", "plug:*", "-q", "--no-samples", "--no-sched",
                    "-f", "-o", f"{directory}/x.tapir", "--", sys.executable, __file__, "--measure", f"{directory}/used", *argv],
                   check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with open(f"{directory}/used", encoding="ascii") as used:
        return tuple(float(word) for word in used.read().split())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--only", default="", help="programs whose name has this in it")
    options = parser.parse_args()
    build, missed = os.path.abspath(options.build), 0
    print(f"{'':24}{'CPU held':>10}{'not held':>10}{'ratio':>7}{'clock held':>12}{'not held':>10}{'ratio':>7}")
    with tempfile.TemporaryDirectory() as directory:
        for name, argv in programs(build, directory):
            if options.only not in name:
                continue
            pairs = [(run(build, directory, argv, True), run(build, directory, argv, False)) for _ in range(options.pairs)]
            cpu, cpu_without = (min(pair[side][0] for pair in pairs) for side in (0, 1))
            wall, wall_without = (min(pair[side][1] for pair in pairs) for side in (0, 1))
            ratio = cpu_without / cpu
            missed += ratio < GOAL
            print(f"{name:24}{cpu:9.2f}s{cpu_without:9.2f}s{ratio:7.3f}{wall:11.2f}s{wall_without:9.2f}s{wall_without / wall:7.3f}"
                  f"{'' if ratio >= GOAL else '  below the goal'}")
    return 1 if missed else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        sys.exit(measure(sys.argv[2], sys.argv[3:]))
    sys.exit(main())
