# SPDX-License-Identifier: GPL-2.0-or-later
"""The first line of a report names what is wrong with a JVM. programs/JvmDefects.java has a defect per mode; many run at once,
as people start them (no flags), one recording with the default profile takes them all, and each report is compared with what its
JVM has counted itself (java.lang.management, its own clocks) in the same time."""
import os
import pathlib

from answers import Sums, Witness, leads, measured, measures, near, recorded, span, times, waited_for_cpu

TIMEOUT = 120
SECONDS = 3
WAITING = ("convoy", "lock", "deadlock", "slow", "idle", "starved", "appender", "watchers", "convoy leak", "systemgc slow")
WORKING = ("finalizer", "systemgc", "humongous", "leak", "metaspace")  # which take the CPUs from others
# What unit tests of made-up recordings hold, too.
CHECK_LONG = {"test_first_line_names_what_threads_of_a_jvm_wait_for", "test_first_line_names_what_a_jvm_does_with_its_memory", "test_first_line_names_what_a_jvm_computes"}
SOURCE = pathlib.Path(__file__).parent / "programs" / "JvmDefects.java"


def compiled(t):
    classes = t.path("classes")
    os.makedirs(classes)
    t.eq(t.run(t.need("javac"), "--release", "11", "-d", classes, str(SOURCE)).rc, 0, "javac")
    return classes


class Jvms:
    """mode -> what its report says, and what it counted, of JVMs that ran at once."""

    def __init__(self, t, modes):
        # Room for a leak of 64 MB a second until the recording has ended, however late it begins; what is kept soon is old all the same.
        java = (t.need("java"), "-Xmx3g", "-Xmn100m", "-XX:+UseG1GC", "-cp", compiled(t), "JvmDefects")
        database = Witness(t.need("java"), "-Xmx64m", *java[3:], "database")
        try:
            slow = f"slow:{database.first()}"
            commands = {mode: (*java, *mode.replace("slow", slow).split()) for mode in modes}
            answers = recorded(t, commands, SECONDS)
        finally:
            database.end()
        self.t = t
        self.reports = {mode: report for mode, (report, _) in answers.items()}
        self.sums = {mode: Sums(said["sums"]) for mode, (_, said) in answers.items() if mode != "idle"}
        self.switches = span(t, t.path("answers.tapir"))
        self.counters = times(t, t.path("answers.tapir"), kind="counter")[:2]

    def leads(self, mode, kind, *words):
        return leads(self.t, self.reports[mode], kind, *words)

    def waiting(self, mode):
        """How many of its threads waited, on average."""
        return self.sums[mode].rate("waited_ns", *self.switches) / 1e9

    def near_waits(self, mode, said):
        """A thread counts until it goes on. tapir tells apart for how long it could have gone on, had it had a CPU: where others have them
        that is a part of the threads' time which no lock explains."""
        begin, end = self.switches
        counted, no_cpu = self.waiting(mode), waited_for_cpu(self.t, self.reports[mode]) * 1e9 / (end - begin)
        measures(self.t, 0.95 * counted - no_cpu <= said <= 1.05 * counted,
                 f"waiting threads, {mode}: {said}, its own count is {counted}, of which at most {no_cpu:.2f} for a CPU")

    def rate(self, mode, key):
        """A second, between the first and the last time that tapir read its counters."""
        return self.sums[mode].rate(key, *self.counters)


@measured
def test_first_line_names_what_threads_of_a_jvm_wait_for(t):
    jvms = Jvms(t, WAITING)
    jvms.near_waits("convoy", jvms.leads("convoy", "locks", "for a monitor", "clerk-*"))
    jvms.near_waits("lock", jvms.leads("lock", "locks", "for a java.util.concurrent lock", "cashier-*"))
    t.eq(jvms.leads("deadlock", "deadlock", "transfer-*", "for a monitor throughout", "in JvmDefects.transfer("), 2, "threads")
    jvms.near_waits("slow", jvms.leads("slow", "waits", "for a socket", "in JvmDefects.askDatabase("))
    jvms.near_waits("convoy leak", jvms.leads("convoy leak", "locks", "for a monitor", "clerk-*"))
    t.ok("heap-growth" in [f["kind"] for f in jvms.reports["convoy leak"]["findings"]], f"the leak, too: {jvms.reports['convoy leak']['findings']}")
    near(t, jvms.leads("systemgc slow", "induced-gc", "System.gc()"), jvms.rate("systemgc slow", "gcs"), "collections a second")
    kinds = [f["kind"] for f in jvms.reports["systemgc slow"]["findings"]]
    t.ok("waits" in kinds, f"the dependency, too: {jvms.reports['systemgc slow']['findings']}")
    starved = jvms.leads("starved", "starvation", "of 4 threads of the pool pool-1-thread-* wait for other tasks in JvmDefects.lambda$starve$")
    near(t, starved, 4, "threads of the pool, all of which wait")
    jvms.near_waits("appender", jvms.leads("appender", "waits", "for a full queue in JvmDefects.log("))
    watchers = jvms.leads("watchers", "thread-growth", "more threads each second", "in JvmDefects.sleep(")
    near(t, watchers, jvms.sums["watchers"].rate("count", *jvms.switches), "threads more a second")
    idle = jvms.leads("idle", "idle", "s of CPU in ")
    t.ok(idle >= 98 and len(jvms.reports["idle"]["findings"]) == 1, f"{jvms.reports['idle']['findings']}")


@measured
def test_first_line_names_what_a_jvm_does_with_its_memory(t):
    jvms = Jvms(t, WORKING)
    # It begins when a collection finds the first of them.
    seconds = (jvms.switches[1] - jvms.switches[0]) / 1e9
    busy = jvms.leads("finalizer", "finalizer", "the finalizer thread is saturated", "most in JvmDefects")
    measures(t, 0.9 * seconds <= busy <= 1.01 * seconds, f"seconds in finalizers: {busy} of {seconds}")
    near(t, jvms.leads("systemgc", "induced-gc", "System.gc()"), jvms.rate("systemgc", "gcs"), "collections a second")
    near(t, jvms.leads("humongous", "humongous"), jvms.rate("humongous", "gcs"), "collections a second")
    near(t, jvms.leads("leak", "heap-growth", "the old generation grows"), jvms.rate("leak", "bytes") / 1e6, "MB/s")
    near(t, jvms.leads("metaspace", "class-growth", "metaspace"), jvms.rate("metaspace", "classes"), "classes a second")


@measured
def test_first_line_names_what_a_jvm_computes(t):
    jvms = Jvms(t, ("exceptions", "regex"))
    for mode, kind, words in (("exceptions", "exception-cpu", "of the CPU creates and throws exceptions"),
                              ("regex", "cpu-purpose", "of the CPU matches regular expressions")):
        jvms.leads(mode, kind, words)
        first = next(f for f in jvms.reports[mode]["findings"] if f["kind"] == kind)
        # Its own thread does nothing else; the JVM's compilers are the rest. Where compiled code keeps no frame pointers the stack of a helper
        # that it calls, or of an interrupt, does not tell what it is for: that much less is said, never more.
        sums = jvms.sums[mode]
        share = 100 * sums.between("work_ns", *jvms.switches) / sums.between("cpu_ns", *jvms.switches)
        said = float(first["text"].split("%")[0])
        measures(t, 0.8 * share <= said <= 1.05 * share, f"percent of its CPU time: {said}, its own count is {share}")
