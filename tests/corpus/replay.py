#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Replays the recordings of this directory: what tapir's report says of NAME.tapir is compared with NAME.json, which has what the recorded
program and its witness said (scripts/corpus makes both). Prints a line for each recording, and a table of what differs.

A recording in known_wrong.txt (NAME, date and reason, by tabs) must differ: a line there that is no longer true is an error, so that the list
only becomes shorter. Needs no root and no quiet machine. Exit code 0: as expected; 1: not."""
import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
MAX_BYTES, MAX_MEDIAN_BYTES = 300_000, 120_000
KNOWN_WRONG = HERE / "known_wrong.txt"


def read_known_wrong():
    lines = [line.split("\t") for line in KNOWN_WRONG.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    return {name: reason for name, _, reason in lines}


def report_of(tapir, name, expected):
    argv = [tapir, "report", str(HERE / f"{name}.tapir"), "--json"]
    if expected.get("pids"):
        argv += ["-p", ",".join(map(str, expected["pids"]))]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    if done.returncode:
        raise RuntimeError(f"exit {done.returncode}: {done.stderr.strip()[-200:]}")
    return json.loads(done.stdout)


def differences(expected, findings):
    """Yields (what, expected, said). That others have the CPUs is of the machine on which it was recorded."""
    found = [finding for finding in findings if finding["kind"] != "neighbour"]
    kinds = [finding["kind"] for finding in found]
    nth = -1
    for wanted in expected["expect"]:
        place = next((i for i in range(nth + 1, len(found)) if kinds[i] == wanted["kind"]), None)
        if place is None or nth < 0 < place:
            yield "kind" if nth < 0 else "order", wanted["kind"], ", ".join(kinds) or "none"
            continue
        nth, finding = place, found[place]
        for word in wanted.get("words", ()):
            if word not in finding["text"]:
                yield f"{wanted['kind']}: cause or place", word, finding["text"]
        low, high = wanted.get("between", (float("-inf"), float("inf")))
        if not low <= finding["magnitude"] <= high:
            yield f"{wanted['kind']}: magnitude", f"{low:.4g} to {high:.4g}", f"{finding['magnitude']:.4g}"
    for kind in kinds:
        if kind in expected.get("absent", ()) or kind not in expected.get("only", kinds):
            yield "no alarm", f"no {kind}", next(finding["text"] for finding in found if finding["kind"] == kind)


def replay(tapir, name):
    try:
        expected = json.loads((HERE / f"{name}.json").read_text(encoding="utf-8"))
        return list(differences(expected, report_of(tapir, name, expected)["findings"]))
    except (RuntimeError, OSError, ValueError, subprocess.TimeoutExpired) as error:
        return [("read", "a report", str(error))]


def check_sizes(names):
    sizes = sorted((HERE / f"{name}.tapir").stat().st_size for name in names)
    if sizes and (sizes[-1] > MAX_BYTES or sizes[len(sizes) // 2] > MAX_MEDIAN_BYTES):
        return f"recordings have {sizes[len(sizes) // 2]} bytes (median), {sizes[-1]} at most: more than {MAX_MEDIAN_BYTES} and {MAX_BYTES}"
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default=os.environ.get("BUILD", "build"), help="where make built (default: build)")
    parser.add_argument("names", nargs="*", metavar="NAME", help="recordings (default: all)")
    options = parser.parse_args()
    tapir = str(pathlib.Path(options.build, "tapir").resolve())
    names = options.names or sorted(path.stem for path in HERE.glob("*.tapir"))
    known, began, wrong = read_known_wrong(), time.monotonic(), []
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        results = dict(zip(names, pool.map(lambda name: replay(tapir, name), names)))
    for name, differs in results.items():
        is_known = name in known
        outcome = "ok" if not differs and not is_known else "known" if differs and is_known else "WRONG"
        print(f"{outcome:<6}{name}" + (f": {known[name]}" if is_known else ""))
        for what, wanted, said in differs:
            print(f"      {what:<28} expected {wanted!r}\n      {'':<28} said     {said!r}")
        if outcome == "WRONG":
            wrong.append(name)
            if is_known:
                print(f"      it is as expected now: remove it from {KNOWN_WRONG.name}")
    gone = [name for name in known if not options.names and name not in results]
    said = check_sizes(names)
    for line in [f"{KNOWN_WRONG.name}: no recording is called {name}" for name in gone] + [said] * bool(said):
        print(f"WRONG {line}")
    print(f"{len(names)} recordings, {len(wrong)} differ, {sum(name in known for name in names)} known to be wrong, {time.monotonic() - began:.1f} s")
    return 1 if wrong or gone or said else 0


if __name__ == "__main__":
    sys.exit(main())
