#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""make bench-stacks: records each program of programs.py for a few seconds and prints the table of tests/bench/README.md:
of its CPU samples, its waits and its events, the share of whole stacks, of those with the outermost function, and of those with an
edge that its call graph does not have."""
import argparse
import fnmatch
import json
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))

from harness import Case, Failure, Skip  # noqa: E402
from programs import PROGRAMS  # noqa: E402
import shares  # noqa: E402


def measure(t, program, seconds, skip, hz, options):
    file = t.path("stacks.tapir")
    with program.running(t, skip + seconds + 4) as targets:
        t.tapir("record", *program.events, "-F", hz, "--stack", "--duration", skip + seconds, *options, "-f", "-o", file, *targets,
                timeout=120)
    return shares.of_recording(t.tapir_path, file, program.comms, program.outermost, program.graph,
                               int(skip * 1e9))


def shown(of, what):
    share = of.percent(what)
    return "-" if share is None else f"{share:.1f}" if share < 99.95 or share == 100 else "99.9"


def row(program, found):
    cells = [f"{found[kind].stacks}: {shown(found[kind], 'whole')} / {shown(found[kind], 'outermost')} / "
             f"{shown(found[kind], 'wrong')}" if found[kind].stacks else "" for kind in shares.KINDS]
    return f"| {program.name} | {' | '.join(cells)} |"


def details(found, kind):
    of = found[kind]
    last = sorted(of.last.items(), key=lambda item: -item[1])[:4]
    wrong = sorted(of.wrong_edges.items(), key=lambda item: -item[1])[:4]
    return {"kind": kind, "stacks": of.stacks, "whole": of.whole, "outermost": of.outermost, "one_frame": of.one_frame,
            "edged": of.edged, "wrong": of.wrong, "said": {str(k): v for k, v in of.claims.items()}, "last_frames": last,
            "wrong_edges": wrong}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build")
    parser.add_argument("--only", default="*", metavar="GLOB", help="programs by name")
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--skip", type=float, default=2, metavar="S",
                        help="of the recording: unwind tables are built in the background (%(default)s)")
    parser.add_argument("--hz", type=int, default=499)
    parser.add_argument("--json", metavar="FILE", help="the numbers, with where stacks end and which edges are wrong")
    parser.add_argument("--option", action="append", default=[], help="another option for tapir record")
    options = parser.parse_args()
    if os.geteuid() != 0:
        print("recording needs root", file=sys.stderr)
        return 3
    document, skipped = {}, []
    print("| program | " + " | ".join(f"{kind}: whole / outermost / wrong edge, %" for kind in shares.KINDS) + " |")
    print("|---|---|---|---|")
    for program in PROGRAMS:
        if not fnmatch.fnmatch(program.name, options.only):
            continue
        t = Case(options.build)
        try:
            found = measure(t, program, options.seconds, options.skip, options.hz, options.option)
            print(row(program, found), flush=True)
            document[program.name] = [details(found, kind) for kind in shares.KINDS]
        except (Skip, Failure) as reason:
            skipped.append(f"{program.name}: {str(reason).strip()[-300:]}")
        finally:
            t.close()
    for reason in skipped:
        print(f"skipped: {reason}")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(document, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
