# SPDX-License-Identifier: GPL-2.0-or-later
"""The join: where the time of intervals went, against programs and runtimes that know it themselves."""
import json
import os
import pathlib
import re

from case_runtimes import Server
from dotnet_fire import most_pauses_are_those_of_the_runtime
from dotnet_program import build_dotnet
from harness import named

MS = 1_000_000


def view(t, file, name, *options):
    return json.loads(t.tapir("report", file, "--view", name, "--json", *options).out)


def sums(parts, **what):
    return sum(p["ns"] for p in parts if all(p[key] == value for key, value in what.items()))


# ---- processes that wait for each other ---------------------------------------------------------


def children_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return file.read().split()


def chains(found):
    """Of each interval the processes that its longest wait leads to, and what the text says of them."""
    texts = [max(one["parts"], key=lambda part: part["ns"])["chain"] or "" for one in found]
    return [(re.findall(r"(\w+) \((\d+)\)", text), text) for text in texts]


def test_chains_lead_through_processes(t):
    rounds, file = 10, t.path("relay.tapir")
    target = t.target("relay", "--wait", rounds)
    others = [word for pid in children_of(target.pid) for word in ("-p", pid)]
    said = t.record_waiting(target, file, "relay:*", "--no-samples", "--sched", "--children", *others)
    asked = view(t, file, "slow=relay:ask", "--all")
    t.eq(len(asked["slowest"]), rounds, "questions")
    way = [("proxy", str(said["proxy"])), ("backend", str(said["backend"]))]
    for took, (found, text) in zip((one["ns"] for one in asked["slowest"]), chains(asked["slowest"])):
        t.ok(found == way[:len(found)], f"a pipe's other end, and a socket's: {text}")
        if took < 30 * MS:  # 20 of them the backend slept
            t.ok(re.fullmatch(r"proxy \(\d+\) waits for socket [\d.]+ ms > backend \(\d+\) sleeps [\d.]+ ms", text), text)
    t.ok(any(one["ns"] < 30 * MS for one in asked["slowest"]), "one that nothing else held up")
    of_lock = chains(view(t, file, "slow=relay:collect", "--all")["slowest"])
    t.ok(all([name for name, _ in found] == ["locker", "keeper"][:len(found)] for found, _ in of_lock), f"a child, and the owner of its lock: {of_lock}")
    whole = [text for _, text in of_lock if re.fullmatch(r"locker \(\d+\) waits for file lock [\d.]+ ms > keeper \(\d+\) sleeps [\d.]+ ms", text)]
    t.ok(len(whole) >= rounds // 2, f"{len(whole)} of {rounds} lead to the owner: {of_lock}")
    rows = t.report(file)["overview"]["chains"]
    t.ok(rows and all(row["ns"] >= row["count"] * MS for row in rows), f"of the first screen: {rows}")
    for row in rows:
        names = [link.split(":")[0] for link in row["chain"].split(" > ")]
        t.ok(len(names) > 1 and set(names) <= {"asker", "proxy", "backend", "locker", "keeper", "relay", "?"}, row["chain"])
    ranks = [2 if row["chain"].endswith(("?", ": unknown")) else 1 if row["chain"].endswith(": sleep") else 0 for row in rows]
    t.eq(ranks, sorted(ranks), f"what is not known, or sleeps, comes after the others: {rows}")
    text = t.tapir("report", file, "--view", "slow=relay:ask", "--top", 1).out
    t.ok(re.search(r"ended by proxy \(\d+\): proxy \(\d+\) waits for socket", text), text)


# ---- a program of known sleeps, burns and lock holds -------------------------------------------


def not_charged_ns():
    """What no thread is charged for on a CPU that runs it: interrupts, and what the host of a virtual machine took."""
    with open("/proc/stat", encoding="ascii") as file:
        irq, softirq, steal = map(int, file.readline().split()[6:9])
    return (irq + softirq + steal) * 1e9 / os.sysconf("SC_CLK_TCK")


def slowly(t):
    file = t.path("slowly.tapir")
    before = not_charged_ns()
    said = t.tapir("record", "slowly:*", "-f", "-o", file, "--", t.target_path("slowly"), timeout=60).witness()
    said["not_charged_ns"] = not_charged_ns() - before
    return file, said


def parts_of_slow_requests_are_what_the_program_did(t, file, said):
    found = view(t, file, "slow=request", "--all")
    slowest = {s["begin_ns"]: s for s in found["slowest"]}
    t.eq((found["count"], found["half"], len(slowest)), (len(said["requests"]), 0, len(said["requests"])), "how many")
    took = [s["ns"] for s in found["slowest"]]
    t.eq(took, sorted(took, reverse=True), "the slowest first")
    holder_known = 0
    for request in said["requests"]:
        begin = next(b for b in slowest if request["from_ns"] <= b <= request["until_ns"])
        parts = slowest[begin]["parts"]
        t.eq(sum(p["ns"] for p in parts), slowest[begin]["ns"], "parts add up to the whole")
        # By the program's clock after the first event and before the last one, and around both: it may wait for a CPU between.
        t.ok(request["least_ns"] <= slowest[begin]["ns"] <= request["until_ns"] - request["from_ns"], f"{slowest[begin]} {request}")
        for what, expected, seen in (
                ("lock", request["lock_ns"], sums(parts, reason="mutex")),
                ("sleep", request["sleep_ns"], sums(parts, reason="sleep")),
                ("burn", request["cpu_ns"], sums(parts, state="running"))):
            # The program's clock also counts what it waited for a CPU behind a sleep or a lock.
            behind = 0 if what == "burn" else sums(parts, state="runnable")
            # A quarter is for what /proc/stat does not have either: its ticks are of 10 ms.
            least = 0.75 * seen - said["not_charged_ns"] if what == "burn" else seen
            t.ok(least - 3 * MS < expected < seen + behind + 3 * MS,
                 f"{what}: {seen / MS:.2f} ms, expected {expected / MS:.2f}: {parts}")
        lock = next(p for p in parts if p["reason"] == "mutex")
        t.ok(lock["ended_by"].endswith(f" ({said['holder_tid']})"), f"who had the lock: {lock}")
        t.ok("serve" in lock["stack"], f"where it waited: {lock}")
        holder_known += "be_holder" in (lock["holder_stack"] or [])
        burnt = [p for p in parts if p["state"] == "running" and p["count"]]
        t.ok(sums([p for p in burnt if "burn_cpu" in p["stack"]], state="running") >= 0.6 * request["cpu_ns"] - 2 * MS,
             f"burnt in burn_cpu: {burnt}")
    t.ok(holder_known >= 0.7 * len(said["requests"]), f"what the holder did meanwhile: known of {holder_known}")


def named_pair_finds_the_same_intervals(t, file):
    by_name = view(t, file, "slow=request", "--all")["slowest"]
    for pair in ("slowly:request__start,slowly:request__done", "request__st*,request__done,key=arg0"):
        kind = pair.split(",")[0].rsplit(":", 1)[-1]
        by_pair = view(t, file, "slow=" + kind, "--all", "--pair", pair)["slowest"]
        t.eq([(s["ns"], s["begin_ns"], s["tid"]) for s in by_pair], [(s["ns"], s["begin_ns"], s["tid"]) for s in by_name],
             pair)


def contention_names_the_holder(t, file, said):
    locks = view(t, file, "contention")["locks"]
    expected = sum(r["lock_ns"] for r in said["requests"])
    # The program's clock also counts what it waited for a CPU behind the lock.
    behind = sum(sums(s["parts"], state="runnable") for s in view(t, file, "slow=request", "--all")["slowest"])
    t.ok(expected - behind - 3 * MS * len(said["requests"]) < locks[0]["ns"] < expected + 5 * MS,
         f"{locks[0]['ns'] / MS} ms, expected {expected / MS}, of which {behind / MS} may have been behind it")
    t.eq((locks[0]["kind"], locks[0]["waiters"][0]["held_by_tid"]), ("mutex", said["holder_tid"]), "lock, holder")


def range_and_thread_choose_what_is_reported(t, file, said):
    found = view(t, file, "slow=request", "--all")["slowest"]
    third = sorted(found, key=lambda s: s["at_ns"])[2]
    middle = third["at_ns"] + third["ns"] / 2
    part = view(t, file, "slow=request", "--all", "--from", f"{middle / 1e9:.4f}", "--to", f"{middle / 1e9 + 0.0005:.4f}")
    t.eq([s["begin_ns"] for s in part["slowest"]], [third["begin_ns"]], "the one that goes on then")
    t.eq(len(view(t, file, "slow=request", "--all", "--thread", said["tid"])["slowest"]), len(found), "its thread")
    t.ok("thread 1 is not in" in t.tapir("report", file, "--view", "slow=request", "--thread", 1, expect=1).err, "no thread")


def wrong_questions_are_refused_in_one_line(t, file):
    for options in (("--view", "nonsense"), ("--view", "slow"), ("--view", "cpu=3"), ("--view", "cpu", "--pair", "a"),
                    ("--view", "cpu", "--pair", "a,b,c"), ("--view", "cpu", "--from", "x")):
        result = t.tapir("report", file, *options, expect=2)
        t.eq((len(result.err.strip().splitlines()) <= 2, result.out), (True, ""), f"{options}: {result.err}")
    result = t.tapir("report", file, "--view", "slow=nothing", expect=1)
    t.ok("slowly:request" in result.err, f"says what there is: {result.err}")


def test_requests_of_a_program_took_what_it_says(t):
    """One recording, several questions."""
    file, said = slowly(t)
    parts_of_slow_requests_are_what_the_program_did(t, file, said)
    named_pair_finds_the_same_intervals(t, file)
    contention_names_the_holder(t, file, said)
    range_and_thread_choose_what_is_reported(t, file, said)
    wrong_questions_are_refused_in_one_line(t, file)


# ---- OpenJDK ------------------------------------------------------------------------------------

GARBAGE = """public class Garbage {
    static Object[] kept = new Object[100000];
    public static void main(String[] args) {
        for (int i = 0; i < 1500000; i++)
            kept[i % 100000] = new byte[300];
        for (int i = 0; i < 3; i++)
            System.gc();
    }
}
"""


def near_the_log(t, seen, logged, what):
    """On a busy machine the JVM's thread loses its CPU, now and then, between its own clock and the probe: three of four are within 2 ms."""
    far = [(a, b) for a, b in zip(seen, logged) if abs(a - b) > 2]
    t.ok(len(far) <= 0.25 * len(logged), f"{what}, not within 2 ms of the log: {far} of {len(logged)}")


def test_pauses_of_the_jvm_are_those_of_its_log(t):
    java = t.need("java")
    source, log, file = t.path("Garbage.java"), t.path("gc.log"), t.path("trace.tapir")
    pathlib.Path(source).write_text(GARBAGE)
    t.tapir("record", "hotspot:gc__*,mem__pool__gc__*,vmops__*", "hs_private:safepoint__*", "-f", "-o", file, "--", java,
            "-XX:+UseG1GC", "-Xmx96m", f"-Xlog:gc,safepoint:file={log}", source, timeout=120)
    lines = pathlib.Path(log).read_text().splitlines()
    logged = [float(m.group(1)) for line in lines if (m := re.search(r"Pause .* ([\d.]+)ms$", line))]
    found = view(t, file, "gc", "--all")
    seen = [p["ns"] / MS for p in sorted(found["pauses"], key=lambda p: p["begin_ns"])]
    t.ok(len(logged) > 5, f"{len(logged)} pauses in the log")
    t.eq((len(seen), found["count"]), (len(logged), len(logged)), "pauses")
    near_the_log(t, seen, logged, "pauses")
    stopped = [int(m.group(1)) / MS for line in lines if (m := re.search(r"At safepoint: (\d+) ns", line))]
    points = view(t, file, "slow=safepoint", "--all")
    ours = [s["ns"] / MS for s in sorted(points["slowest"], key=lambda s: s["begin_ns"]) if not s["incomplete"]]
    t.ok(abs(len(ours) - len(stopped)) <= 1, f"{len(ours)} safepoints, {len(stopped)} in the log")
    if len(ours) == len(stopped):
        near_the_log(t, ours, stopped, "safepoints")
    t.ok({p["what"] for p in found["pauses"]} == {"full", "not full"}, "what they were")
    heap = [p for p in found["pauses"] if p["before_bytes"] and p["after_bytes"]]
    t.ok(len(heap) > 0.5 * len(logged), f"the heap before and after: of {len(heap)} pauses")
    t.ok(any(p["reason"] == "G1CollectFull" for p in found["pauses"]), "reasons")
    # On a busy machine it lasts long enough for the report to see how its heap fills at first.
    named = [finding["text"] for finding in t.report(file)["findings"]]
    t.ok(any(re.match(rf"\d+% of the CPU in GC: {len(logged)} pauses of ", text) for text in named), f"the report names it: {named}")
    t.ok(found["gc_samples"] > 0.05 * found["samples"], f"CPU of the collector: {found['gc_samples']}")


# ---- PostgreSQL -----------------------------------------------------------------------------------


def test_durations_of_queries_are_those_of_the_servers_log(t):
    with Server(t) as server:
        file = t.path("trace.tapir")
        server.run("pgbench", "-i", "-q", "-s", "1", "-h", server.dir, "postgres")
        server.run("psql", "-X", "-q", "-h", server.dir, "-d", "postgres", "-c",
                   "alter system set log_min_duration_statement = 0", "-c", "select pg_reload_conf()")
        tapir = t.start_tapir("record", "postgresql:query__start", "postgresql:query__done", "postgresql:lock__wait__*",
                              "--comm", "postgres", "-f", "-o", file)
        tapir.wait_ready()
        server.run("pgbench", "-n", "-c", "3", "-t", "150", "-h", server.dir, "postgres")
        tapir.signal(2)
        t.eq(tapir.wait(30).rc, 0, "exit")
        log = pathlib.Path(server.log).read_text("utf-8")
    logged, texts = {}, {}
    for pid, what, text in re.findall(r"^(\d+) LOG:  (statement|duration): (.*)$", log, re.M):
        if what == "statement":
            texts[pid] = text
        else:
            logged.setdefault((int(pid), texts[pid]), []).append(float(text.split()[0]))
    found = view(t, file, "slow=query", "--all")
    seen = {}
    own = {pid for pid, _ in logged}  # other servers of this machine have the name, too
    for q in sorted((q for q in found["slowest"] if q["pid"] in own), key=lambda q: q["begin_ns"]):
        seen.setdefault((q["pid"], q["label"]), []).append(q["ns"] / MS)
    pairs = [(a, b) for key, all_seen in seen.items() for a, b in zip(all_seen, logged.get(key, []))]
    t.ok(len(pairs) >= 3 * 150 * 7, f"{len(pairs)} statements in both, {found['count']} recorded")
    t.eq([key for key in seen if len(seen[key]) != len(logged.get(key, []))], [], "statements in one only")
    near = sum(abs(a - b) <= 1 for a, b in pairs)
    t.ok(near >= 0.99 * len(pairs), f"{near} of {len(pairs)} within 1 ms")
    t.eq(t.report(file)["lost"], {}, "lost")
    for q in found["slowest"][:20]:
        t.eq(sum(p["ns"] for p in q["parts"]), q["ns"], "parts add up to the whole")


# ---- .NET -----------------------------------------------------------------------------------------

RUNTIME = "Microsoft-Windows-DotNETRuntime"


def test_counts_of_dotnet_are_what_the_program_says(t):
    file = t.path("fire.tapir")
    result = t.tapir("record", f"{RUNTIME}:kw=GC,kw=Contention,kw=Exception,kw=Jit:5", "-f", "-o", file, "--",
                     build_dotnet(t, "Fire"), "gcs=6", "exceptions=25", "contentions=3", "now", expect=None, timeout=90)
    said = result.witness()
    collections, thrown = view(t, file, "gc", "--all"), view(t, file, "exceptions", "--all")
    events = t.events(file)
    t.eq(collections["count"], len(named(events, f"{RUNTIME}:GCRestartEEEnd")), "pauses")
    by_generation = [sum(f"gen {n} " in (p["reason"] or "") for p in collections["pauses"]) for n in range(3)]
    t.eq(by_generation, [said["gcs"][0] - said["gcs"][1], said["gcs"][1] - said["gcs"][2], said["gcs"][2]], "by generation")
    t.ok(all(p["after_bytes"] for p in collections["pauses"] if p["reason"]), collections["pauses"])
    pauses = sorted((p for p in collections["pauses"] if p["reason"]), key=lambda p: p["begin_ns"])
    starts = sorted(named(events, f"{RUNTIME}:GCStart"), key=lambda e: e["time_ns"])
    t.eq(len(pauses), len(starts), "collections")
    most_pauses_are_those_of_the_runtime(t, {str(e["args"]["Count"]): p["ns"] / MS for e, p in zip(starts, pauses)}, said)
    t.eq([(e["type"], e["count"]) for e in thrown["exceptions"]],
         [("System.InvalidOperationException", said["exceptions"])], "exceptions")
    jit = view(t, file, "jit", "--all")
    t.eq(jit["count"] + jit["half"], len(named(events, f"{RUNTIME}:MethodJittingStarted")), "methods")
    locks = [row for row in view(t, file, "contention", "--all")["locks"] if row["kind"] == "contention"]
    t.eq(sum(row["count"] for row in locks), len(named(events, f"{RUNTIME}:ContentionStop")), "contentions")
    t.ok(view(t, file, "allocations")["bytes"] > 100_000, "allocations")


TICK_BYTES = 100 * 1024  # each context tells when it has allocated more since it last told
CONTEXT_BYTES = 8 * 1024  # what a thread is given at once
CONTEXTS = 4  # small objects and large ones, of its own thread and of one of the runtime's


def test_bytes_and_lock_waits_of_dotnet_are_the_runtimes_own(t):
    file = t.path("known.tapir")
    known = t.start(build_dotnet(t, "Known"), env={**os.environ, "DOTNET_gcServer": "0"})
    known.wait_line("pid ")
    tapir = t.start_tapir("record", f"{RUNTIME}:kw=GC,kw=Contention:5", "--no-samples", "-p", known.pid, "-f", "-o", file)
    tapir.wait_ready(".NET events")
    known.go()
    said = json.loads(known.wait_line("{", timeout=60))
    known.go()
    known.wait(10)
    t.eq(tapir.wait(30).rc, 0, "exit")
    t.eq(t.report(file)["lost"], {}, "lost")
    first = view(t, file, "slow=contention", "--top", 1)["slowest"][0]
    began_ns = first["begin_ns"] - first["at_ns"]
    # Before, the runtime allocates for being recorded; afterwards nobody counts.
    since = "--from", f"{(said['from_ns'] - began_ns) / 1e9:.6f}", "--to", f"{(said['until_ns'] - began_ns) / 1e9:.6f}"
    seen = view(t, file, "allocations", "--all", *since)
    bound = CONTEXTS * (TICK_BYTES + CONTEXT_BYTES)
    t.ok(abs(seen["bytes"] - said["bytes"]) <= bound, f"{seen['bytes']} bytes, the runtime: {said['bytes']}, within {bound}")
    t.ok(said["bytes"] - said["bytes_of_threads"] < bound, f"all but what the rest of the runtime takes: {said}")
    t.eq(sum(row["bytes"] for row in seen["allocations"]), seen["bytes"], "types add up to all")
    locks = [row for row in view(t, file, "contention", "--all", *since)["locks"] if row["kind"] == "contention"]
    t.eq(sum(row["count"] for row in locks), said["contentions"], "waits, as Monitor.LockContentionCount")
    by_count = {row["count"]: row["ns"] for row in locks if row["count"] > 2}  # the runtime's own locks are waited for now and then
    t.eq(sorted(by_count), [truth["count"] for truth in said["locks"]], "waits of each lock")
    for truth in said["locks"]:
        t.ok(truth["held_ns"] <= by_count[truth["count"]] <= truth["waited_ns"], f"{by_count}, by the program's clock: {truth}")
