#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Fault injection: each call site of tapir and of its library fails once at its first call and once at a later one.

Every recording of fault_runs.py is run once to see which sites it reaches and how often. Then each site is made to fail in
turn, and the run must end: no crash, no hang, nothing left, an exit status and a message that are true, and whatever is
missing from the result is reported. The seed, which chooses later calls and errors, is printed.

Exit: 0 passed, 1 problems, 77 skipped (its last line says why).
"""
import argparse
import collections
import os
import random
import sys
import tempfile
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE]

import fault_runs  # noqa: E402
import judge  # noqa: E402
import private  # noqa: E402
from fault_table import place_all  # noqa: E402
from runtimes import runtimes  # noqa: E402
from worker import Worker  # noqa: E402


class Job(collections.namedtuple("Job", "run site nth error")):
    def __str__(self):
        return f"{self.run.name}: {self.site}, call {self.nth} of {self.site.cnt}: {self.error}"


def cannot_be_known(what):
    """Where the error does not reach tapir: libbpf answers EINVAL when its own bpf() fails while it loads, and a program whose
    start failed in the child looks like one that must not be traced."""
    return any(part in what for part in ("libbpf bpf", "read at run_child", "write at tapir_holder_child__run"))


def one(worker, run, key=0, nth=0, error=None, what="an undisturbed run"):
    """Runs once; (problems, Ended, whether the fault happened)."""
    worker.fresh()
    run.prepare(worker)
    if isinstance(run, fault_runs.Runtime):
        worker.last_runtime = what
    before = private.files()
    worker.table.arm(key, nth, error)
    ended, problems = run.go(worker)
    problems = [*judge.of_tapir(ended, run.quiet_err, run.knows_cause and not cannot_be_known(what)), *problems, *worker.leftovers(before)]
    return problems, ended, worker.table.fired()


def look(worker, runs):
    """Runs each recording undisturbed; the sites of each, by key."""
    sites = {}
    for run in runs:
        problems, ended, _ = one(worker, run)
        found = worker.table.sites()
        if problems or not found:
            raise SystemExit(f"{run.name}, undisturbed, {len(found)} sites: {problems}\n{ended.out}{ended.err}")
        run.quiet_err = ended.err
        sites[run] = found
    place_all(worker.tool("faults", "tapir"), [site for found in sites.values() for site in found])
    return sites


def jobs_of(sites, chance, limit, call):
    """Each site's first and one later call, or this one with each error; with a limit a sample, in which every recording has its share."""
    jobs = []
    for run, found in sites.items():
        for site in sorted(found, key=lambda s: s.key):
            if call:
                jobs += [Job(run, site, call, error) for error in site.errors() if call <= site.cnt]
                continue
            jobs.append(Job(run, site, 1, site.errors()[0]))
            if site.cnt > 1:
                jobs.append(Job(run, site, chance.randint(2, max(2, site.cnt * 9 // 10)), chance.choice(site.errors())))
    chance.shuffle(jobs)
    return jobs[:limit] if limit else jobs


def work(number, count, jobs, args, runs, home, out):
    """A worker's life: every count-th job. Writes one line for each problem."""
    worker = Worker(args.build, home)
    end = time.monotonic() + args.seconds
    done = fired = 0
    for job in jobs[number::count]:
        if time.monotonic() > end:
            break
        try:
            problems, ended, happened = one(worker, job.run, job.site.key, job.nth, job.error, str(job))
        except Exception:  # the harness's own
            problems, ended, happened = [traceback.format_exc()], None, 1
        done, fired = done + 1, fired + min(happened, 1)
        if problems:
            said = ended.err.strip().replace("\n", "\n      | ") if ended else ""
            callers = worker.table.callers(worker.tool("faults", "tapir"))
            out.write(f"FAIL {job}\n" + "".join(f"    {p}\n" for p in problems) + f"      < {callers}\n      | {said}\n")
            out.flush()
        elif args.verbose:
            out.write(f"ok   {job}: exit {ended.rc}, {ended.err.strip().splitlines()[-1:]}\n")
    for problem in worker.end_programs(os.path.join(home, "stop")):
        out.write(f"FAIL at the end: {problem}\n")
    out.write(f"done {done} {fired} {len(jobs[number::count])}\n")
    out.flush()


def everything(args, runs, home, out):
    """Within directories of its own: looks, then shares the jobs among workers."""
    first = Worker(args.build, home)
    os.makedirs(first.out, exist_ok=True)
    sites = look(first, runs)
    for problem in first.end_programs(os.path.join(home, "stop")):
        out.write(f"FAIL undisturbed: {problem}\n")
    jobs = [job for job in jobs_of(sites, random.Random(args.seed), args.sites, args.call) if args.site in str(job)]
    print(f"{sum(map(len, sites.values()))} call sites in {len(runs)} recordings, {len(jobs)} faults", flush=True)
    homes = [os.path.join(home, str(n)) for n in range(args.jobs)]
    pids = []
    for n, place in enumerate(homes):
        os.makedirs(place)
        pids.append(private.in_child(work, n, args.jobs, jobs, args, runs, place, open(os.path.join(home, f"said{n}"), "w", encoding="utf-8")))
    codes = [os.waitpid(pid, 0)[1] for pid in pids]
    for n in range(args.jobs):
        with open(os.path.join(home, f"said{n}"), encoding="utf-8") as file:
            out.write(file.read())
    if any(codes):
        out.write(f"FAIL workers: {codes}\n")
    out.flush()


def summary(text):
    """Counts by kind of problem, and the jobs done."""
    kinds = collections.Counter(line.split(":")[0].strip() + ":" + line.split(":")[1][:40] for line in text.splitlines()
                                if line.startswith("    ") and ":" in line and not line.startswith("      "))
    done = [list(map(int, line.split()[1:])) for line in text.splitlines() if line.startswith("done ")]
    for kind, cnt in kinds.most_common():
        print(f"  {cnt:5} {kind}")
    ran, fired, wanted = (sum(column) for column in zip(*done)) if done else (0, 0, 0)
    failed = sum(line.startswith("FAIL") for line in text.splitlines())
    print(f"{ran} of {wanted} runs, {fired} with their fault, {failed} failed")
    return failed or not ran


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--sites", type=int, default=0, help="so many faults only")
    parser.add_argument("--seconds", type=float, default=1740, help="no new run after this time")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--only", default="", help="recordings, by name, with commas")
    parser.add_argument("--site", default="", help="faults whose description contains this")
    parser.add_argument("--call", type=int, default=0, help="this call of each site, to see a fault again")
    parser.add_argument("-v", "--verbose", action="store_true")
    args = parser.parse_args()
    args.build = os.path.abspath(args.build)
    args.seed = args.seed if args.seed is not None else int(time.time())
    if os.geteuid():
        print("requires root: it records")
        return 77
    print(f"seed {args.seed}", flush=True)
    runs = fault_runs.all_runs(*runtimes(args.build))
    if args.only:
        runs = [run for run in runs if run.name in args.only.split(",")]
    os.makedirs(os.path.join(args.build, "tests", "tmp"), exist_ok=True)
    with tempfile.TemporaryDirectory(dir=os.path.join(args.build, "tests", "tmp"), ignore_cleanup_errors=True) as home:
        with open(os.path.join(home, "said"), "w+", encoding="utf-8") as out:
            _, status = os.waitpid(private.in_child(everything, args, runs, home, out), 0)
            out.seek(0)
            text = out.read()
    sys.stdout.write("".join(line + "\n" for line in text.splitlines() if not line.startswith("done ")))
    return 1 if summary(text) or status else 0


if __name__ == "__main__":
    sys.exit(main())
