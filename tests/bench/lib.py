#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What libtapir costs a program, beside LTTng-UST and .NET's EventListener, in one run: each of them once a
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

NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all")
FRAMES = ["-fno-omit-frame-pointer", "-mno-omit-leaf-frame-pointer", "-fno-optimize-sibling-calls"]


def say(text):
    print(f"[bench] {text}", file=sys.stderr, flush=True)


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

    def close(self):
        pass


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
            say(f"LTTng-UST discarded {lost}")
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
    for peer in (Libtapir, EventListener, Lttng):
        try:
            yield peer(build)
        except LookupError as reason:
            say(f"{peer.name} is not measured: {reason}")


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
    ("one listener / EventListener, median", 1, lambda r: r["1 listener"][1] / r["EventListener"][1]),
)


def show(rounds):
    for what in rounds[0]:
        least = [r[what][0] for r in rounds if what in r]
        median = [r[what][1] for r in rounds if what in r]
        print(f"  {what:<40} least {min(least):8.2f}   medians {min(median):8.2f} {statistics.median(median):8.2f} {max(median):8.2f} ns")
    print(f"  {'':<40}  goal      least   median greatest")
    for what, limit, of in GOALS:
        try:
            seen = sorted(of(r) for r in rounds)
        except KeyError as peer:
            say(f"{what}: no {peer}")
            continue
        print(f"  {what:<40} {limit:5.2f} {seen[0]:10.2f} {statistics.median(seen):8.2f} {seen[-1]:8.2f}"
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


if __name__ == "__main__":
    main()
