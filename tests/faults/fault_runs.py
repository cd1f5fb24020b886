# SPDX-License-Identifier: GPL-2.0-or-later
"""The recordings, each short, in which a call fails. A run yields what is wrong with it."""
import json
import os
import re
import signal
import sys

import judge
import private
import runtimes

SHORT = ("-F", "499")


class Run:
    """One command under a fault. name: what a person selects it by."""
    program = "tapir"  # of build/faults
    quiet_err = ""
    knows_cause = True  # else its messages are not looked at

    def __init__(self, name):
        self.name = name

    def prepare(self, worker):
        """What must run already; not under the fault."""

    def go(self, worker):
        """Runs; returns the Ended of tapir and a generator of problems."""
        raise NotImplementedError

    def tapir(self, worker):
        return worker.tool("faults", self.program)


class Command(Run):
    """record -- CMD: a program with USDT probes or with a ring lane."""

    def __init__(self, name, spec, argv):
        super().__init__(name)
        self.spec, self.argv = spec, argv

    def go(self, worker):
        command = [worker.tool(*self.argv[0]), *self.argv[1:]]
        ended = worker.run([self.tapir(worker), "record", self.spec, *SHORT, "-o", worker.file(), "--", *command], worker.faulty)
        return ended, self.check(worker, ended)

    def check(self, worker, ended):
        said = judge.witness(ended.out) or judge.witness(worker.late_out("run"))
        if "pid " in ended.out and not said and ended.rc is not None:
            yield "harm: the program did not end as it does"
        if ended.rc == 0 and not said:
            yield "harm: exit 0, and the program did not run"
        report, problems = judge.of_report(worker, worker.file(), ended.rc)
        yield from problems
        if report and said:
            provider, event = self.spec.split(":")
            yield from judge.of_counts(report, provider, event, said["fired"], ended.err, self.quiet_err)


class Attach(Run):
    """record -p of a program that fires all the time, which must not notice."""

    def go(self, worker):
        target = worker.spawn([worker.target("storm"), "--wait", "4000", "1000", "2"], worker.plain, "target")
        process = worker.spawn([self.tapir(worker), "record", "storm:hit", *SHORT, "-p", str(target.pid), "-d", "0.2", "-o",
                                worker.file()], worker.faulty, "run")
        worker.wait_for(process, runtimes.harness.READY.encode())
        target.send_signal(signal.SIGUSR1)
        ended = worker.finish(process)
        after = private.stat(target.pid)
        return ended, self.check(worker, ended, target, after)

    def check(self, worker, ended, target, after):
        if after and after[1] in "Tt":
            yield "harm: the target is stopped"
        end = worker.finish(target)
        said = judge.witness(end.out)
        if end.rc != 0 or not said or said["fired"] != 2000:
            yield f"harm: the target ended with {end.rc}, {end.out[-100:]}"
        report, problems = judge.of_report(worker, worker.file(), ended.rc)
        yield from problems
        if report and ended.rc == 0 and not judge.is_reported(report, ended.err, self.quiet_err):
            entries = [e for e in report["events"] if (e["provider"], e["event"]) == ("storm", "hit")]
            if not sum(e["captured"] for e in entries) or not report["samples"]["captured"] + report["switches"]["captured"]:
                yield f"counts: {entries}, {report['samples']['captured']} samples, and nothing is said"


class Runtime(Run):
    """record -p of a managed runtime, which serves all runs and must not notice."""

    def __init__(self, name, argv, program="tapir", env=False):
        super().__init__(name)
        self.argv, self.program, self.is_inside = argv, program, env

    def prepare(self, worker):
        argv = [word.replace("STOP", worker.home + "/stop") for word in self.argv]
        self.target = worker.long_lived(self.name, argv, worker.faulty if self.is_inside else worker.plain)

    def go(self, worker):
        ended = worker.run([self.tapir(worker), "record", *SHORT, "-p", str(self.target.pid), "-d", "0.25", "-o",
                            worker.file()], worker.faulty)
        return ended, self.check(worker, ended)

    def check(self, worker, ended):
        now = private.stat(self.target.pid)
        if self.target.poll() is not None or not now or now[1] in "Tt":
            yield f"harm: the target is {now}"
        report, problems = judge.of_report(worker, worker.file(), ended.rc)
        yield from problems
        if report and ended.rc == 0 and not report["samples"]["captured"] + report["switches"]["captured"] and \
                not judge.is_reported(report, ended.err, self.quiet_err):
            yield "counts: nothing was recorded, and nothing is said"


class Snapshot(Runtime):
    """stacks -p of a managed runtime: its functions are all there, or something is said."""

    def __init__(self, name, host, argv, functions):
        super().__init__(name, argv)
        self.host, self.functions, self.expected = host, functions, None

    def prepare(self, worker):
        self.target = worker.long_lived(self.host, [word.replace("STOP", worker.home + "/stop") for word in self.argv], worker.plain)

    def go(self, worker):
        ended = worker.run([self.tapir(worker), "stacks", "-p", str(self.target.pid), "--json"], worker.faulty)
        return ended, self.check(worker, ended)

    def check(self, worker, ended):
        now = private.stat(self.target.pid)
        if self.target.poll() is not None or not now or now[1] in "Tt":
            yield f"harm: the target is {now}"
        if ended.rc:
            return
        found = {frame["function"] for group in json.loads(ended.out)["groups"] for frame in group["frames"]
                 if self.functions.search(frame["function"])}
        if self.expected is None:
            self.expected = found
            if not found:
                yield "output: no function of the program"
        if self.expected - found and ended.err == self.quiet_err:
            yield f"output: without {self.expected - found}, and nothing is said"


class Live(Run):
    """trace --json -- CMD: each event is printed or counted as lost."""

    def go(self, worker):
        ended = worker.run([self.tapir(worker), "trace", "storm:hit", "--json", "--", worker.target("storm"), "0", "100", "1"],
                           worker.faulty)
        return ended, self.check(ended)

    def check(self, ended):
        said = [line for line in ended.out.splitlines() if line.startswith('{"fired"')]
        printed = ended.out.count('{"type":"event"')
        if "pid " in ended.out and not said and ended.rc is not None:
            yield "harm: the program did not end as it does"
        if ended.rc == 0 and (printed > 100 or printed < 100 and
                              {judge.shape(l) for l in ended.err.splitlines()} <= {judge.shape(l) for l in self.quiet_err.splitlines()}):
            yield f"counts: {printed} of 100 events, and nothing is said"


class Read(Run):
    """A command that reads a file: its output is that of an undisturbed one, or it says why not."""

    def __init__(self, name, *words):
        super().__init__(name)
        self.words, self.expected = words, None

    def prepare(self, worker):
        if not hasattr(self, "source"):  # one for all workers
            self.source = os.path.join(worker.home, "source.tapir")
        if not os.path.exists(self.source):
            # Events come from a program that hardly uses the CPU, samples from one that uses 100 ms of it however busy the machine is.
            worker.run([worker.tool("tapir"), "record", "storm:hit", "-F", "999", "-o", self.source, "--", "sh", "-c",
                        '"$0" 100 >/dev/null; exec "$1" 5000 1000 2', worker.target("burner"), worker.target("storm")])

    def go(self, worker):
        words = [word.replace("FILE", self.source).replace("OUT", worker.file("result")) for word in self.words]
        ended = worker.run([self.tapir(worker), *words], worker.faulty)
        result = ended.out
        if "OUT" in self.words and os.path.exists(worker.file("result")):
            with open(worker.file("result"), "rb") as file:
                result = file.read()
        return ended, self.check(worker, ended, result)

    def check(self, worker, ended, result):
        if self.expected is None:
            self.expected = result
        if ended.rc == 0 and result != self.expected and ended.err == self.quiet_err:
            yield f"output: another one ({len(result)} of {len(self.expected)}), and nothing is said"
        if ended.rc and "OUT" in self.words and os.listdir(worker.out):
            yield f"left: {os.listdir(worker.out)}"


class RingHost(Command):
    """The same recording as "ring", in which the program's library fails, of which tapir knows nothing."""
    program = "../tapir"
    knows_cause = False

    def check(self, worker, ended):
        said = judge.witness(ended.out)
        if not said or said["fired"] != 2000:
            yield f"harm: the program printed {ended.out[-200:]!r}"
            return
        report, problems = judge.of_report(worker, worker.file(), ended.rc)
        yield from problems
        if report and said["wanted"]:
            yield from judge.of_counts(report, "host", "tick", said["fired"], ended.err, self.quiet_err)


def all_runs(dotnet, java):
    """The recordings; dotnet and java are commands, None where there is no such runtime."""
    runs = [
        Command("usdt", "storm:hit", (("tests", "targets", "storm"), "0", "300", "2")),
        Attach("attach"),
        Command("ring", "host:tick", (("faults", "ring_host"), "1000", "2")),
        Live("trace"),
        Read("report", "report", "FILE"),
        Read("json", "report", "FILE", "--json"),
        Read("view", "report", "FILE", "--view", "cpu"),
        Read("events", "events", "FILE", "--json"),
        Read("query", "query", "FILE", "SELECT e.event, e.args, f.function FROM stacks k CROSS JOIN events e ON e.stack_id = k.stack_id "
                                       "JOIN frames f ON f.stack_id = k.stack_id ORDER BY e.time_ns, f.depth"),
        Read("flamegraph", "flamegraph", "FILE", "-o", "OUT"),
        Read("html", "html", "FILE", "-o", "OUT"),
        Read("nettrace", "export", "--format", "nettrace", "FILE", "-o", "OUT"),
        Read("speedscope", "export", "--format", "speedscope", "FILE", "-o", "OUT"),
        Snapshot("stacks", "python", [sys.executable, os.path.join(runtimes.HERE, "idle.py"), "STOP"], re.compile(r"^py::.*idle\.py$")),
        RingHost("inside", "host:tick", (("faults", "ring_host_faults"), "1000", "2")),
    ]
    if dotnet:
        runs += [Runtime("dotnet", dotnet), Runtime("coreclr", dotnet, "tapir-coreclr", True)]
    if java:
        runs += [Runtime("jvm", java), Snapshot("stacks-jvm", "jvm", java, re.compile(r"\bIdle\.waits\b"))]
    return runs
