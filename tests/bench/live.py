#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What live questions cost, beside bpftrace and programs that are written by hand with libbpf, in one run: every question by each of
them once a round, in another order each round. Of all rounds the least counts, less that of an empty program: other programs of the
machine only ever add to it. What tapir and bpftrace counted is compared with what the program fired.

    live.py [--build DIR] [--rounds N] [--write]

--write: puts the table into README.md, if the load of the machine was at most 2 all the time. Raw numbers: BUILD/bench/live.json.
"""

import argparse
import json
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.dont_write_bytecode = True

import measure  # noqa: E402
import tracers  # noqa: E402

BEGIN, END = "<!-- live: made by make bench-live -->", "<!-- live ends -->"
MAX_LOAD = 2
RSS_GOAL_MIB, START_GOAL_SECONDS = 40, 0.15
ALL_OF = ["--sum", "arg0", "--min", "arg0", "--max", "arg0", "--hist", "arg0"]
EVENT, PAIR = "live:event", ["live:begin", "--until", "live:end"]

# What it is called: the goal in ns above an empty program, tapir's words, bpftrace's actions by event, programs of live.bpf.c.
QUESTIONS = {
    "count": (25, [EVENT, "--count"], {"event": "{ @ = count(); }"}, ["live_count"]),
    "histogram of a number": (30, [EVENT, "--hist", "arg0"], {"event": "{ @ = hist(arg0); }"}, ["live_hist"]),
    "count by a number": (60, [EVENT, "--by", "arg0"], {"event": "{ @[arg0] = count(); }"}, ["live_number"]),
    "sum, least, most, histogram by a text": (180, [EVENT, *ALL_OF, "--by", "arg4"],
                                              {"event": "{ @[str(arg4)] = stats(arg0); @l[str(arg4)] = min(arg0); "
                                                        "@m[str(arg4)] = max(arg0); @h[str(arg4)] = hist(arg0); }"}, ["live_text"]),
    "count by stack": (500, [EVENT, "--by", "stack"], {"event": "{ @[ustack] = count(); }"}, ["live_stack"]),
    "length, by thread": (120, [*PAIR, "--hist", "took"],
                          {"begin": "{ @s[tid] = nsecs; }", "end": "/@s[tid]/ { @ = hist(nsecs - @s[tid]); delete(@s[tid]); }"},
                          ["live_begin_t", "live_end_t"]),
    "length, by another key": (320, [*PAIR, "--key", "arg0", "--hist", "took"],
                               {"begin": "{ @s[arg0] = nsecs; }", "end": "/@s[arg0]/ { @ = hist(nsecs - @s[arg0]); delete(@s[arg0]); }"},
                               ["live_begin_k", "live_end_k"]),
}


class Context(measure.Context):
    def __init__(self, build):
        super().__init__(build, "live")
        self.load = os.path.join(self.build, "tests/bench/live_load")
        self.sites = measure.Sites(self.load)

    def sites_of(self, events):
        sites = measure.Sites(self.load)
        sites.by_name = {("live", event): self.sites.by_name[("live", event)] for event in events}
        return sites


class Hand(tracers.Tracer):
    """bare.c with one or two programs of live.bpf.c."""

    def __init__(self, context, name, programs, events):
        super().__init__(context, name)
        self.programs, self.events = programs, events

    def command(self, target):
        offsets = [hex(self.context.sites.by_name[("live", event)][0]) for event in self.events]
        more = [self.programs[-1], offsets[1]] if len(offsets) > 1 else []
        return [f"{self.context.bench}/bare", f"{self.context.bench}/live.bpf.o", self.programs[0], self.context.sites.path, offsets[0],
                self.output, *more]

    def counts(self, log):
        return {}


class Tapir(tracers.Tracer):
    def __init__(self, context, name, words):
        super().__init__(context, name)
        self.words = words

    def command(self, target):
        # With the benchmark as a second target it does not end with the first.
        return [self.context.tapir, "trace", *self.words, "--json", "-p", str(target.pid), "-p", str(os.getpid())]

    def counts(self, log):
        table = next(json.loads(line) for line in log.splitlines() if line.startswith('{"type":"total"'))
        if "evaluated by tapir" in log:
            raise measure.Failed("the kernel did not answer")
        return {"hits": table["rows_hits"] + table["more_hits"]}


class Bpftrace(tracers.Tracer):
    def __init__(self, context, name, actions):
        super().__init__(context, name)
        self.actions = actions

    def missing(self):
        return tracers.Bpftrace.missing(self)

    def command(self, target):
        script = " ".join(f"usdt:{self.context.sites.path}:live:{event} {action}" for event, action in self.actions.items())
        return ["bpftrace", "-p", str(target.pid), "-e", script]

    def counts(self, log):
        return {}


def configurations(context):
    """{(question, by whom): (tracer, events)}; the question "": an empty program."""
    found = {("", "hand"): (Hand(context, "empty", ["live_empty"], ["event"]), ["event"]),
             ("", "hand, pair"): (Hand(context, "empty pair", ["live_empty"], ["begin", "end"]), ["begin", "end"])}
    for question, (_, words, actions, programs) in QUESTIONS.items():
        events = list(actions)
        name = question.replace(",", "")
        found[(question, "tapir")] = (Tapir(context, f"tapir {name}", words), events)
        found[(question, "bpftrace")] = (Bpftrace(context, f"bpftrace {name}", actions), events)
        found[(question, "hand")] = (Hand(context, f"hand {name}", programs, events), events)
    return found


def run_once(context, tracer, events, options):
    found = measure.run_traced([context.load, "pair" if len(events) > 1 else "event", str(options.inner), str(options.hits)], tracer,
                         context.sites_of(events))
    if found.get("hits", found.get("fired")) != found.get("fired"):
        return {"failed": f"{found['hits']} of {found['fired']} hits were counted"}
    return found


def run_rounds(context, options):
    """{(question, by whom): [result of each round]}, and the greatest load."""
    all_of = configurations(context)
    results, load = {key: [] for key in all_of}, os.getloadavg()[0]
    able = []
    for key, (tracer, events) in all_of.items():
        reason = tracer.missing()
        if reason:
            results[key].append({"failed": reason, "absent": True})
        else:
            able.append((key, tracer, events))
    for number, (key, tracer, events) in measure.in_turns(able, options.rounds):
        found = run_once(context, tracer, events, options)
        results[key].append(found)
        load = max(load, os.getloadavg()[0])
        measure.say(f"round {number + 1}/{options.rounds}  {tracer.name:<48} " + (found.get("failed") or f"{found['ns_min']:8.1f} ns"))
    return results, load


def least(rounds, member):
    values = [r[member] for r in rounds if "failed" not in r and member in r]
    return min(values) if values else None


def above(results, question, whom):
    """ns above an empty program on the same events; None: not measured."""
    base = "hand, pair" if len(QUESTIONS[question][2]) > 1 else "hand"
    total, empty = least(results[(question, whom)], "ns_min"), least(results[("", base)], "ns_min")
    return None if total is None or empty is None else total - empty


def shown(value, digits=0):
    return "not measured" if value is None else f"{value:.{digits}f}"


def verdict(value, goal):
    return "" if value is None else "met" if value <= goal else "**not met**"


def table_of(results):
    lines = ["| ns above an empty program | tapir | bpftrace | by hand | goal | |", "|---|---|---|---|---|---|"]
    for question, (goal, *_) in QUESTIONS.items():
        values = [above(results, question, whom) for whom in ("tapir", "bpftrace", "hand")]
        lines.append(f"| {question} | {' | '.join(map(shown, values))} | <= {goal} | {verdict(values[0], goal)} |")
    for what, member, goal, digits in (("RSS, MB, the greatest of all", "resident_mib", RSS_GOAL_MIB, 0),
                                       ("s until attached, of a count, the least", "start_seconds", START_GOAL_SECONDS, 2)):
        values = []
        for whom in ("tapir", "bpftrace", "hand"):
            if member == "resident_mib":
                found = [r[member] for (_, by), rounds in results.items() if by == whom for r in rounds if member in r]
                values.append(max(found) if found else None)
            else:
                values.append(least(results[("count", whom)], member))
        lines.append(f"| {what} | {' | '.join(shown(v, digits) for v in values)} | <= {goal} | {verdict(values[0], goal)} |")
    empty, pair = (shown(least(results[("", by)], "ns_min")) for by in ("hand", "hand, pair"))
    return lines + ["", f"An event with an empty program takes {empty} ns, two of them {pair} ns."]


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.environ.get("BUILD", "build"))
    parser.add_argument("--rounds", type=int, default=5, help="interleaved rounds (%(default)s)")
    parser.add_argument("--hits", type=int, default=4000, help="events a timing (%(default)s)")
    parser.add_argument("--inner", type=int, default=50, help="timings a run (%(default)s)")
    parser.add_argument("--write", action="store_true", help="put the table into README.md")
    return parser.parse_args()


def main():
    options = parse_options()
    if os.geteuid() != 0:
        measure.say("attaching probes needs root")
        return 3
    context = Context(options.build)
    measure.compile_bare(context, "live")
    results, load = run_rounds(context, options)
    rounds = {(whom, question or "empty"): found for (question, whom), found in results.items()}
    return measure.finish(context, "live", options, rounds, load, table_of(results), (BEGIN, END), MAX_LOAD)


if __name__ == "__main__":
    sys.exit(main())
