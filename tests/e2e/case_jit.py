# SPDX-License-Identifier: GPL-2.0-or-later
"""Names of generated code are those it had when it ran."""
import os
import re
import time

CHECK_LONG = {"test_names_are_kept_over_segments", "test_names_beyond_the_limit_are_reported"}

MS = 1_000_000
MAP_GRAIN_NS = 120 * MS  # a perf map has no times: its lines are dated by when they were read
HZ = 997
THREE_NAMES = ["first@0", "second@0", "third@0"]
THREE_PLACES = ["wanderer@1", "wanderer@2", "wanderer@3"]


def record(t, kind, periods, ms=300, *options):
    file = t.path("trace.tapir")
    said = t.tapir("record", "-F", HZ, *options, "-f", "-o", file, "--",
                   t.target_path("jitter"), kind, ms, *periods)
    return file, said.witness()["periods"]


def code_frames(t, file, periods):
    """(time, address, name) of each sample whose innermost frame is in the generated code."""
    page = min(p["va"] for p in periods) & ~0xfff
    frames = [(s["time_ns"], s["stack"][0]) for s in t.events(file, "sample") if s.get("stack")]
    return [(time, f["addr"], f["name"]) for time, f in frames if f["addr"] & ~0xfff == page]


def check_periods(t, file, periods, grain_ns):
    frames = code_frames(t, file, periods)
    for i, p in enumerate(periods):
        until = p["until_ns"] - (grain_ns if i + 1 < len(periods) else 0)
        inside = [name for time, va, name in frames
                  if p["from_ns"] < time < until and p["va"] <= va < p["va"] + 64]
        of_it = (until - p["from_ns"]) / (p["until_ns"] - p["from_ns"])
        t.ok(len(inside) >= of_it * p["cpu_ns"] / 1e9 * HZ * 0.2, f"{len(inside)} samples in {p}")
        t.eq(set(inside), {p["name"]}, f"names in the period of {p['name']}")


def test_one_address_bears_three_names_in_a_perf_map(t):
    file, periods = record(t, "map", THREE_NAMES)
    t.eq(len({p["va"] for p in periods}), 1, "addresses")
    check_periods(t, file, periods, MAP_GRAIN_NS)


def test_one_address_bears_three_names_in_a_jitdump(t):
    file, periods = record(t, "dump", THREE_NAMES, 1300)  # longer than from one naming to the next
    t.eq(len({p["va"] for p in periods}), 1, "addresses")
    check_periods(t, file, periods, MS)


def test_one_name_is_at_three_addresses(t):
    for kind in "map", "dump":
        file, periods = record(t, kind, THREE_PLACES)
        t.eq(len({p["va"] for p in periods}), 3, "addresses")
        check_periods(t, file, periods, MS)


def test_names_are_kept_over_segments(t):
    """A segment of the file is 10 s: names of before are in the later ones, too."""
    file, periods = record(t, "map", ["steady@0"], 11500)
    check_periods(t, file, periods, MAP_GRAIN_NS)


def test_code_without_a_map_is_unnamed_but_not_gone(t):
    file, periods = record(t, "none", ["nobody@0"])
    frames = code_frames(t, file, periods)
    t.ok(len(frames) >= 0.3 * HZ * 0.2, f"{len(frames)} samples")
    t.eq({name for _, _, name in frames}, {None}, "names")
    folded = t.tapir("export", "--format", "folded", file).out
    t.ok(re.search(r";\[jit\]\+0x[0-9a-f]+ \d+$", folded, re.M), folded[:500])


AHEAD_S = 100_000


def record_contained(t, kind, periods, *namespaces):
    """The target in namespaces of its own, where it is process 1 and /tmp is another one."""
    unshare = [t.need("unshare"), "--pid", "--mount", "--fork", "--kill-child", "--mount-proc", *namespaces]
    if t.run(*unshare, "true").rc:
        t.skip("no such namespaces can be made here: " + " ".join(namespaces))
    # Whatever lies in /tmp outside, as we may, is not to be seen inside.
    script = (f"mount -t tmpfs tmpfs /mnt && cp {t.target_path('jitter')} /mnt && mount --move /mnt /tmp && "
              f"exec /tmp/jitter {kind} 400 " + " ".join(periods))
    file = t.path("trace.tapir")
    said = t.tapir("record", "-F", HZ, "-f", "-o", file, "--", *unshare, "sh", "-c", script).witness()
    return file, said["periods"]


def test_files_are_found_in_containers(t):
    for kind in "map", "dump":
        file, periods = record_contained(t, kind, THREE_PLACES)
        check_periods(t, file, periods, MS)


def test_jitdump_of_another_user_and_clock_is_read(t):
    """A time namespace: the process's clock, and so its jitdump's, runs ahead of the host."""
    file, periods = record_contained(t, "dump", THREE_NAMES, "--user", "--map-root-user", "--time",
                                     "--monotonic", AHEAD_S)
    for p in periods:
        p["from_ns"] -= AHEAD_S * 1_000_000_000
        p["until_ns"] -= AHEAD_S * 1_000_000_000
    check_periods(t, file, periods, MS)


def make_link(path):
    os.symlink("/etc/shadow", path)


def make_sparse(path):
    with open(path, "wb") as file:
        file.truncate(10 << 30)


def make_long_line(path):
    with open(path, "wb") as file:
        file.write(b"1000 10 a")
        file.truncate(1 << 30)
        file.seek(1 << 30)
        file.write(b"\n")


def make_garbage(path):
    with open(path, "wb") as file:
        file.write(os.urandom(8 << 20))


def make_foreign(path):
    with open(path, "wb") as file:
        file.write(b"1000 10 a\n")
    os.chown(path, 65534, 65534)


HOSTILE_MAPS = {"fifo": os.mkfifo, "link": make_link, "directory": os.mkdir, "sparse": make_sparse,
                "long line": make_long_line, "garbage": make_garbage, "foreign": make_foreign}


def test_hostile_map_costs_one_line_at_most(t):
    for kind, make in HOSTILE_MAPS.items():
        target = t.target("jitter", "--wait", "none", 400, "nobody@0")
        path, file = f"/tmp/perf-{target.pid}.map", t.path("trace.tapir")
        make(path)
        try:
            tapir = t.start_tapir("record", "-F", HZ, "-p", target.pid, "-f", "-o", file)
            tapir.wait_ready()
            target.go()
            target.wait()
            result, took = tapir.wait_timed()
        finally:
            os.rmdir(path) if kind == "directory" else os.unlink(path)
        t.eq(result.rc, 0, f"exit with a {kind}")
        t.ok(took < 5, f"{kind}: took {took:.1f} s")
        lines = [line for line in result.err.splitlines() if "perf-" in line]
        t.ok(len(lines) <= 1, f"{kind}: {lines}")
        t.ok(lines or kind in ("long line", "garbage", "sparse"), f"{kind}: nothing was said")
        names = {f["name"] for s in t.events(file, "sample") for f in s.get("stack", [])[:1]}
        t.ok(None in names, f"{kind}: samples of the code are there, without a name: {names}")


def test_names_beyond_the_limit_are_reported(t):
    """60,000 names of 4,000 bytes: 240 MB, of which 192 are kept."""
    target = t.target("jitter", "--wait", "none", 400, "nobody@0")
    path = f"/tmp/perf-{target.pid}.map"
    try:
        with open(path, "wb") as file:
            for i in range(60000):
                file.write(b"%x 1000 %05d%s\n" % ((1 << 40) + (i << 12), i, b"n" * 4000))
        tapir = t.start_tapir("record", "-F", HZ, "-p", target.pid, "-f", "-o", t.path("trace.tapir"))
        tapir.wait_ready()
        target.go()
        target.wait()
        result = tapir.wait(60)
    finally:
        os.unlink(path)
    t.eq(result.rc, 0, "exit")
    lines = [line for line in result.err.splitlines() if "the limit of 192 MB of names per process" in line]
    t.eq(len(lines), 1, f"one line: {result.err}")
