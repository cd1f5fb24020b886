# SPDX-License-Identifier: GPL-2.0-or-later
"""The toy virtual machine of tests/toyvm: traced by tapir, by bpftrace on the same probes, by LTTng and by its own
listener at once, each of which counts the same.

LTTng's session daemon is one of this test's own, of another user and with a directory of its own: the system's is
neither used nor seen by it.
"""
import collections
import os
import re
import time

from harness import EVENTS_ONLY, PATIENCE

VM = "Tapir-Toy-VM"
REQUESTS = 400
PROBED = ("RequestStart", "RequestStop", "MethodCompiled", "GCStart", "GCEnd")
NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all")
CHECK_LIB = {"test_lttng_counts_the_same_as_all_others_at_once"}


def machine(t):
    path = os.path.join(t.build, "tests", "toyvm", "toyvm")
    t.ok(os.path.exists(path), "toyvm is not built: make targets")
    return path


def start_tracers(t, vm, *specs):
    tapir = t.start_tapir("record", *(specs or (VM,)), *EVENTS_ONLY, "-p", vm.pid, "-f", "-o", t.path("trace.tapir"))
    tapir.wait_ready()
    script = "".join(f"usdt:{machine(t)}:{VM}:{name} {{ @{name} = count(); }} " for name in PROBED)
    script += f"usdt:{machine(t)}:{VM}:MethodCompiled {{ @sum = sum(arg2); }} "
    watcher = t.start(t.need("bpftrace"), "-p", vm.pid, "-e", 'BEGIN { printf("watching\\n"); } ' + script)
    watcher.wait_line("watching")
    return tapir, watcher


def counts_of_all(t, vm, tapir, watcher):
    """What the machine fired, by event, after everybody was asked whether they have the same."""
    counted = vm.wait().witness()
    t.eq(counted.pop("lost"), 0, "events that its own listener or logger lost")
    t.eq({name: heard for name, (_, heard) in counted.items()}, {name: fired for name, (fired, _) in counted.items()}, "its listener")
    fired = {name: count for name, (count, _) in counted.items()}
    t.eq(tapir.wait().rc, 0, "exit of tapir")
    said = watcher.wait().out
    t.eq({name: int(count) for name, count in re.findall(r"^@(\w+): (\d+)$", said, re.M) if name in PROBED},
         {name: fired[name] for name in PROBED}, "bpftrace")
    t.ok(f"@sum: {fired['MethodCompiled']}\n" in said, "each method's Tier is 1")
    return fired


def check_recording(t, fired):
    file = t.path("trace.tapir")
    t.eq(t.report(file)["lost"], {}, "losses of tapir")
    events = collections.defaultdict(list)
    for event in t.events(file):
        events[event["event"]].append(event)
    t.eq({name: len(events[name]) for name in fired}, fired, "tapir")
    starts = sorted(events["RequestStart"], key=lambda event: event["args"]["Id"])
    t.eq([event["args"] for event in starts], [{"Id": n, "Path": "/caf\u00e9", "Client": "00112233-4455-6677-8899-aabbccddeeff"}
                                               for n in range(REQUESTS)], "RequestStart")
    t.eq(len({event["activity_id"] for event in starts}), REQUESTS, "an activity each")
    t.eq(sorted(event["args"]["Blocks"][1] for event in events["MethodCompiled"]), list(range(REQUESTS // 10)), "blocks")
    t.eq({event["args"]["Phase"] for event in events["Swept"]}, {"sweep"}, "the collector's own event")


def test_tapir_bpftrace_and_its_own_listener_count_the_same(t):
    vm = t.start(machine(t), "--wait", REQUESTS)
    vm.wait_line("pid ")
    tapir, watcher = start_tracers(t, vm)
    vm.go()
    check_recording(t, counts_of_all(t, vm, tapir, watcher))


def test_keywords_and_levels_select_events_of_the_machine(t):
    vm = t.start(machine(t), "--wait", REQUESTS)
    vm.wait_line("pid ")
    file = t.path("trace.tapir")
    tapir = t.start_tapir("record", VM + ":0x6:4", *EVENTS_ONLY, "-p", vm.pid, "-f", "-o", file)
    tapir.wait_ready()
    vm.go()
    t.eq(vm.wait().witness()["lost"], 0, "lost")
    t.eq(tapir.wait().rc, 0, "exit of tapir")
    # Swept has another keyword, GCDynamicEvent (an event that the collector has not listed) none; MethodCompiled is Verbose.
    t.eq({event["event"] for event in t.events(file)}, {"GCStart", "GCEnd", "GCDynamicEvent"}, "keywords 0x6, level 4")


class Lttng:
    """A private session daemon, of nobody; everything is below one directory."""

    def __init__(self, t):
        t.need("lttng-sessiond", "lttng", "babeltrace2", "setpriv")
        t.need_others()
        self.t, self.home = t, t.path("lttng")
        os.mkdir(self.home)
        os.chmod(t.tmp, 0o755)
        os.chown(self.home, 65534, 65534)
        self.env = {**os.environ, "HOME": self.home, "LTTNG_HOME": self.home, "LTTNG_UST_REGISTER_TIMEOUT": "10000"}
        self.daemon = t.start(*NOBODY, "lttng-sessiond", "--no-kernel", "--verbose", env=self.env)
        end = time.monotonic() + 30 * PATIENCE
        while t.run(*NOBODY, "lttng", "--no-sessiond", "list", env=self.env).rc:
            t.ok(time.monotonic() < end, "the session daemon answers")
            time.sleep(0.1)

    def __call__(self, *argv):
        result = self.t.run(*NOBODY, "lttng", "--no-sessiond", *argv, env=self.env)
        self.t.eq(result.rc, 0, f"lttng {argv}: {result.err}")
        return result.out

    def trace(self, events):
        self("create", "toy", "--output", os.path.join(self.home, "out"))
        self("enable-channel", "-u", "big", "--subbuf-size=1M", "--num-subbuf=4")
        self("enable-event", "-u", "-c", "big", events)
        self("start")

    def read(self):
        """The events as babeltrace2 prints them; the daemon has ended."""
        self("stop")
        discarded = re.findall(r"Discarded events:\s*(\d+)", self("list", "toy"))
        self.t.eq(set(discarded), {"0"}, "events that LTTng lost")
        self("destroy", "toy")
        self.daemon.signal(15)
        self.daemon.wait()
        result = self.t.run(self.t.need("babeltrace2"), os.path.join(self.home, "out"))
        self.t.eq(result.rc, 0, result.err)
        return result.out.splitlines()


def test_lttng_counts_the_same_as_all_others_at_once(t):
    library = os.path.join(t.build, "tests", "toyvm", f"libtapir-lttng-{VM}.so")
    if not os.path.exists(library):
        t.skip("the library for LTTng is not built (liblttng-ust-dev)")
    lttng = Lttng(t)
    lttng.trace("ToyVM:*")
    vm = t.start(*NOBODY, machine(t), "--wait", "--lttng", library, REQUESTS, env=lttng.env)
    vm.wait_line("pid ")
    tapir, watcher = start_tracers(t, vm)
    vm.go()
    fired = counts_of_all(t, vm, tapir, watcher)
    check_recording(t, fired)
    lines = lttng.read()
    names = collections.Counter(re.search(r" ToyVM:(\w+): ", line).group(1) for line in lines)
    t.eq(dict(names), {name: fired[name] for name in PROBED}, "LTTng")
    fields = {}
    for line in lines:
        fields.setdefault(re.search(r" ToyVM:(\w+): ", line).group(1), line.split("}, {")[-1])
    t.ok(re.search(r'Id = \d+, Path = "/caf\u00e9", Client = "00112233-4455-6677-8899-aabbccddeeff"', fields["RequestStart"]),
         fields["RequestStart"])
    t.ok(re.search(r"Status = (200|404), Seconds = [\d.]+, IsCached = [01]", fields["RequestStop"]), fields["RequestStop"])
    t.ok(re.search(r'Name = "Shop.Method0", Address = 0x10000, Tier = 1, BlockCount = 3, .*Blocks = '
                   r'\[ \[0\] = 1, \[1\] = 0, \[2\] = 3 \]', fields["MethodCompiled"]), fields["MethodCompiled"])
