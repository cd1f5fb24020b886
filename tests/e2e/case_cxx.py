# SPDX-License-Identifier: GPL-2.0-or-later
"""C++: exceptions have the names of their types. Witness: how often the program throws which."""
import collections
import os
import subprocess

THROWN = {"shop::sold_out": 5, "shop::odd<std::map<int, long, std::less<int>, std::allocator<std::pair<int const, long> > > >": 4,
          "std::out_of_range": 3, "(anonymous namespace)::hidden": 2, "int": 1}


def test_exceptions_have_the_names_of_their_types(t):
    """Also of types that have no symbol: the program is stripped."""
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs", "thrower.cc")
    t.run(t.need("g++"), "-O1", "-s", source, "-o", t.path("thrower"))
    program = subprocess.Popen([t.path("thrower")], stdin=subprocess.PIPE)
    recorder = t.start_tapir("record", "-p", program.pid, "--no-samples", "--no-sched", "-o", t.path("x.tapir"),
                             "libstdcxx:throw,catch")
    recorder.wait_ready()
    program.communicate(b"\n", timeout=80)
    recorder.wait()
    for event in ("throw", "catch"):
        seen = collections.Counter(e["args"]["type"] for e in t.events(t.path("x.tapir")) if e["event"] == event)
        t.eq(dict(seen), THROWN, event)
    text = t.tapir("events", t.path("x.tapir")).out
    t.ok('type="shop::sold_out"' in text, text[:500])
    view = t.tapir("report", "--view", "exceptions", t.path("x.tapir")).out
    t.ok("shop::sold_out" in view.splitlines()[0] and "(anonymous namespace)::hidden" in view, view)


def test_spec_may_ask_for_the_address_of_the_type(t):
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs", "thrower.cc")
    t.run(t.need("g++"), "-O1", source, "-o", t.path("thrower"))
    program = subprocess.Popen([t.path("thrower")], stdin=subprocess.PIPE)
    recorder = t.start_tapir("record", "-p", program.pid, "--no-samples", "--no-sched", "-o", t.path("x.tapir"),
                             "libstdcxx:throw::arg1=ptr")
    recorder.wait_ready()
    program.communicate(b"\n", timeout=80)
    recorder.wait()
    types = {e["args"]["type"] for e in t.events(t.path("x.tapir"))}
    t.ok(len(types) == len(THROWN) and all(isinstance(type, int) for type in types), types)


THREADS = """
#include <thread>
#include <vector>
static volatile unsigned long sum;
__attribute__((noinline, noclone)) void own_work() { for (unsigned long i = 0; i < 400000000ul; i++) sum = sum + i; }
int main()
{
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; i++) threads.emplace_back(own_work);
    for (auto &thread : threads) thread.join();
}
"""


def test_threads_have_their_stacks_down_to_where_they_begin(t):
    """libstdc++ starts them by a function of its own, which has no name without its symbols."""
    with open(t.path("threads.cc"), "w", encoding="ascii") as source:
        source.write(THREADS)
    t.eq(t.run(t.need("g++"), "-O2", t.path("threads.cc"), "-o", t.path("threads"), "-pthread").rc, 0, "g++")
    t.tapir("record", "--no-sched", "-f", "-o", t.path("x.tapir"), "--", t.path("threads"), timeout=120)
    stacks = [(s.get("stack_end"), [frame.get("name") for frame in s["stack"]]) for s in t.events(t.path("x.tapir"), "sample")
              if s.get("stack") and (s["stack"][0].get("name") or "").startswith("own_work")]
    known = [stack for stack in stacks if stack[0] != "not_yet"]
    whole = [names for end, names in known if end == "whole" and names[-2:] == ["start_thread", "clone3"]]
    t.ok(known and len(whole) >= 0.99 * len(known), f"{len(whole)} of {len(known)} are whole: {known[:2]}")
