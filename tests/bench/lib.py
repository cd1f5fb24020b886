#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What libtapir costs a program, beside LTTng-UST, .NET's EventListener and a probe without the library, in one run: each of them once a
round, in another order each round. Ratios are taken within a round. An event is four ints and a string of 16
characters, in rounds of 500 with a pause, so that nobody's buffers run full.

LTTng's session daemon is one of this run's own, of another user and with a directory of its own.
"""
import argparse
import json
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]
sys.dont_write_bytecode = True

import dotnet  # noqa: E402  (its Builder)
import dotnet_program  # noqa: E402
import measure  # noqa: E402

NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all")
FRAMES = ["-fno-omit-frame-pointer", "-mno-omit-leaf-frame-pointer", "-fno-optimize-sibling-calls"]


def json_lines(text):
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


class Libtapir:
    name = "libtapir"

    def __init__(self, build):
        self.program = os.path.join(build, "tests/bench/bench_lib")

    def round(self):
        found = json_lines(subprocess.run([self.program], capture_output=True, text=True, check=True).stdout)
        return {row["what"]: (row["ns_min"], row["ns_median"]) for row in found if "what" in row}

    def memory(self):
        for cnt in (0, 1, 300):
            out = subprocess.run([self.program, "--memory", str(cnt)], capture_output=True, text=True, check=True).stdout
            print(f"  memory of a thread that fired {cnt:3} events      {json_lines(out)[0]['kib']:7.1f} KiB")

    def clocks(self):
        out = subprocess.run([os.path.join(os.path.dirname(self.program), "bench_clock")], capture_output=True, text=True, check=True).stdout
        for row in json_lines(out):
            print(f"  a stamp by {row['clock']:<20} {row['ns']:7.1f} ns   before that of the mutex's previous owner: "
                  f"{row['inversions']} of {row['owners']}, at most by {row['worst']}")

    def close(self):
        pass


class Traced:
    """Programs under `tapir record`: (what, lane, SPEC, the program with its arguments)."""
    name = "tapir record"
    RUNS = (
        ("USDT session", "probe", "Bench-Lib", ("bench_lib", "--traced")),
        ("record SPEC -- CMD, from 3 s on", "auto", "Bench-Lib", ("bench_lib", "--traced", "3000")),
        ("record SPEC -- CMD, its first second", "auto", "Bench-Lib", ("bench_lib", "--traced")),
        ("spine", "probe", "bench:event", ("workload", "--depth", "5", "--rounds", "100", "--hits", "500", "--rate", "40000")),
        ("dynamic, ring lane", "ring", "Bench-Shop", ("bench_dynamic",)),
        ("dynamic, USDT", "probe", "Bench-Shop", ("bench_dynamic", "--wait")),
        ("GC sink, ring lane", "ring", "Bench-Runtime", ("bench_gc_sink",)))

    def __init__(self, build):
        self.build = build
        if os.geteuid():
            raise LookupError("root is needed")
        self.home = tempfile.mkdtemp(prefix="tapir-bench-")

    def run(self, lane, spec, argv):
        """What the program printed, and what tapir lost. With --wait it runs before tapir is there."""
        program = [f"{self.build}/tests/bench/{argv[0]}", *argv[1:]]
        file = f"{self.home}/x.tapir"
        record = [f"{self.build}/tapir", "record", spec, "--lane", lane, "--no-samples", "--no-sched", "--no-stack", "-f", "-o", file]
        if "--wait" in argv:
            with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as target:
                target.stdout.readline()
                subprocess.run([*record, "-p", str(target.pid)], capture_output=True, check=True)
                out = target.stdout.read()
        else:
            out = subprocess.run([*record, "--", *program], input="go\n", capture_output=True, text=True, check=True).stdout
        report = subprocess.run([f"{self.build}/tapir", "report", file, "--json"], capture_output=True, text=True, check=True).stdout
        return json_lines(out), json.loads(report).get("lost")

    def round(self):
        rows = {}
        for what, lane, spec, argv in self.RUNS:
            found, lost = self.run(lane, spec, argv)
            if lost:
                measure.say(f"{what}: lost {lost}")
            for row in found:
                if not row.get("is_on", 1):
                    raise ValueError(f"{what}: the event was off")
                if "define_us" in row:
                    rows[f"{what}: define"] = (row["define_us"] * 1000, row["define_us"] * 1000)
                    rows[f"{what}: KiB"] = (row["kib"], row["kib"])
                elif "ns_min" in row:
                    rows[f"{what}: {row.get('what', 'event')}"] = (row["ns_min"], row["ns_median"])
        return rows

    def close(self):
        shutil.rmtree(self.home, ignore_errors=True)


class Lttng:
    """A daemon for the whole run, a session for each round."""
    name = "LTTng-UST"

    def __init__(self, build):
        if not all(map(shutil.which, ("lttng-sessiond", "lttng", "setpriv"))):
            raise LookupError("lttng-tools or setpriv is not installed")
        self.home = tempfile.mkdtemp(prefix="tapir-bench-")
        self.program = os.path.join(self.home, "workload_lttng")
        done = subprocess.run(["gcc", "-std=gnu11", "-D_GNU_SOURCE", "-DBENCH_LTTNG", "-O2", *FRAMES, f"-I{HERE}/peers",
                               str(HERE / "workload.c"), f"{HERE}/peers/lttng_provider.c", "-llttng-ust", "-ldl", "-pthread",
                               "-o", self.program], capture_output=True, text=True, check=False)
        if done.returncode:
            shutil.rmtree(self.home)
            raise LookupError("liblttng-ust-dev is not installed")
        os.chmod(self.home, 0o755)
        os.mkdir(f"{self.home}/own")
        os.chown(f"{self.home}/own", 65534, 65534)
        own = f"{self.home}/own"
        self.env = {**os.environ, "HOME": own, "LTTNG_HOME": own, "LTTNG_UST_REGISTER_TIMEOUT": "10000"}
        self.daemon = subprocess.Popen([*NOBODY, "lttng-sessiond", "--no-kernel"], env=self.env, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
        end = time.monotonic() + 30
        while self.command("list", check=False).returncode:
            if time.monotonic() > end:
                self.close()
                raise LookupError("the session daemon does not answer")
            time.sleep(0.1)

    def command(self, *argv, check=True):
        return subprocess.run([*NOBODY, "lttng", "--no-sessiond", *argv], env=self.env, capture_output=True, text=True, check=check)

    def round(self):
        output = f"{self.home}/own/out"
        shutil.rmtree(output, ignore_errors=True)
        self.command("create", "bench", f"--output={output}")
        self.command("enable-event", "-u", "bench:event")
        self.command("start")
        out = subprocess.run([*NOBODY, self.program, "--depth", "5", "--rounds", "100", "--hits", "500", "--rate", "40000"], env=self.env,
                             input="go\n", capture_output=True, text=True, check=True).stdout
        self.command("stop")
        lost = [line.split()[-1] for line in self.command("list", "bench").stdout.splitlines() if "Discarded events:" in line]
        self.command("destroy", "bench")
        if set(lost) - {"0"}:
            measure.say(f"LTTng-UST discarded {lost}")
        found = json_lines(out)[-1]
        return {"LTTng-UST, no stack": (found["ns_min"], found["ns_median"])}

    def close(self):
        self.daemon.terminate()
        self.daemon.wait()
        shutil.rmtree(self.home, ignore_errors=True)


class EventListener:
    name = ".NET's EventListener"

    def __init__(self, build):
        try:
            self.program = dotnet_program.build_dotnet(dotnet.Builder(build), "InProcess")
        except SystemExit as reason:
            raise LookupError(str(reason)) from reason

    def round(self):
        found = json_lines(subprocess.run([self.program], capture_output=True, text=True, check=True).stdout)[0]
        if found["read"] != found["fired"]:
            raise ValueError(f"EventListener: {found}")
        return {"EventListener": (found["ns_min"], found["ns_median"])}

    def close(self):
        pass


def peers(build):
    """EventListener first: it is built, and LTTng has a daemon to end."""
    for peer in (Libtapir, EventListener, Traced, Lttng):
        try:
            yield peer(build)
        except LookupError as reason:
            measure.say(f"{peer.name} is not measured: {reason}")


EVENTS = ("the same, defined at run time", "event known at build time")


def of_both(prefix, above, below):
    """Least by least."""
    return lambda r: r[prefix + above][0] / r[prefix + below][0]


GOALS = (
    ("off, above the empty loop, ns", 0.5, lambda r: r["off"][0] - r["empty loop"][0]),
    ("one listener, ns", 80, lambda r: r["1 listener"][1]),
    ("8 listeners, ns above one and 8 x 30", 0, lambda r: r["8 listeners"][1] - r["1 listener"][1] - 240),
    ("counter, one of 8 threads, ns", 10, lambda r: r["counter, one of 8 threads"][1]),
    ("histogram, ns", 10, lambda r: r["histogram, 1 thread"][1]),
    ("ring lane / LTTng-UST, least", 0.33, lambda r: r["ring lane, no stack"][0] / r["LTTng-UST, no stack"][0]),
    ("ring lane / LTTng-UST, median", 0.33, lambda r: r["ring lane, no stack"][1] / r["LTTng-UST, no stack"][1]),
    ("  with 28 frames, least", 0.46, lambda r: r["ring lane, 28 frames"][0] / r["LTTng-UST, no stack"][0]),
    ("  with 28 frames, median", 0.46, lambda r: r["ring lane, 28 frames"][1] / r["LTTng-UST, no stack"][1]),
    ("USDT session / the probe of a program without the library", 1, lambda r: r["USDT session: event"][0] / r["spine: event"][0]),
    ("dynamic / static event, ring lane", 1.1, of_both("dynamic, ring lane: ", *EVENTS)),
    ("dynamic / static event, USDT", 1.1, of_both("dynamic, USDT: ", *EVENTS)),
    ("an event defined, us", 1000, lambda r: r["dynamic, ring lane: define"][0] / 1000),
    ("an event defined, KiB", 8, lambda r: r["dynamic, ring lane: KiB"][0]),
    ("by the GC sink / directly", 1.1, of_both("GC sink, ring lane: collector's event, ", "by the sink", "directly")),
    ("  an event of the collector's own", 1.1, of_both("GC sink, ring lane: own event, ", "by the sink", "directly")),
    ("  query, off, ns", 0.5, lambda r: r["GC sink, ring lane: query, off"][0] - r["GC sink, ring lane: query, the loop alone"][0]),
    ("one listener / EventListener, median", 1, lambda r: r["1 listener"][1] / r["EventListener"][1]),
)


def show(rounds):
    for what in rounds[0]:
        least = [r[what][0] for r in rounds if what in r]
        median = [r[what][1] for r in rounds if what in r]
        print(f"  {what:<62} least {min(least):8.2f}   medians {min(median):8.2f} {statistics.median(median):8.2f} {max(median):8.2f} ns")
    print(f"  {'':<62}  goal      least   median greatest")
    for what, limit, of in GOALS:
        try:
            seen = sorted(of(r) for r in rounds)
        except KeyError as peer:
            measure.say(f"{what}: no {peer}")
            continue
        print(f"  {what:<62} {limit:5.2f} {seen[0]:10.2f} {statistics.median(seen):8.2f} {seen[-1]:8.2f}"
              f"   {'met' if statistics.median(seen) <= limit else 'NOT met'}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    who, rounds = [], []
    try:
        who.extend(peers(os.path.abspath(options.build)))
        for _ in range(options.rounds):
            found = {}
            for peer in random.sample(who, len(who)):
                found.update(peer.round())
            rounds.append(found)
    finally:
        for peer in who:
            peer.close()
    print(f"{options.rounds} rounds, load {os.getloadavg()[0]:.0f} on {os.cpu_count()} CPUs")
    show(rounds)
    who[0].memory()
    who[0].clocks()


if __name__ == "__main__":
    main()
