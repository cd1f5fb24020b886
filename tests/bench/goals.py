# SPDX-License-Identifier: GPL-2.0-or-later
"""What the numbers should be, and whether they are. A goal is judged by the median over the
rounds; a loss by the sum. What could not be measured is reported as such and never counted as met.
"""

import statistics


def good(rounds):
    return [r for r in rounds if "failed" not in r]


def ratios(rounds, base, key="ns_median"):
    """Round by round: this configuration over that one."""
    return [a[key] / b[key] for a, b in zip(rounds, base)
            if "failed" not in a and "failed" not in b]


def total(rounds, key):
    values = [r[key] for r in rounds if key in r]
    return sum(values) if values else None


def unaccounted(rounds):
    """Fired, but neither captured nor said to be lost."""
    counted = [r for r in rounds if r.get("captured")]
    return sum(r["fired"] - r["captured"] - r["lost"] for r in counted) if counted else None


def each_event(rounds, key, scale=1):
    return [r[key] * scale / r["captured"] for r in rounds if r.get("captured") and key in r]


def per_event(rounds, key, scale=1):
    values = each_event(rounds, key, scale)
    return statistics.median(values) if values else None


def shown(value, digits):
    return "-" if value is None or value == [] else f"{value:.{digits}f}"


def line(what, wanted, limit, values, reason, at_least=False):
    """One judged goal; `values` are those of the rounds."""
    if not values:
        return {"what": what, "wanted": wanted, "spread": [None] * 3, "verdict": reason}
    middle = statistics.median(values)
    met = middle >= limit if at_least else middle <= limit
    return {"what": what, "wanted": wanted, "spread": [min(values), middle, max(values)],
            "verdict": "met" if met else "NOT MET"}


def why(rounds):
    """Why there is no value."""
    reasons = [r["failed"] for r in rounds if "failed" in r]
    return reasons[0].split(":")[0] if reasons else "not measured"


def lost(what, rounds):
    """Nothing may be missing, by the tracer's own account and by the workload's."""
    values = [max(r["lost"], r["fired"] - r["captured"]) for r in good(rounds)]
    judged = line(what, "0", 0, values, why(rounds))
    if values and max(values) > 0:
        judged["verdict"] = "NOT MET"
    return judged


def accounted(what, rounds):
    values = [abs(r["fired"] - r["captured"] - r["lost"]) for r in good(rounds)]
    judged = line(what, "0", 0, values, why(rounds))
    if values and max(values) > 0:
        judged["verdict"] = "NOT MET"
    return judged


def perf_map(runs):
    """bench_perf_map's lines, of all rounds."""
    def of(bench, key, **which):
        return [r[key] for r in runs if r["bench"] == bench
                and all(r[k] == v for k, v in which.items())]

    return [
        line("perf map of 1 M lines, by address, s", "<= 0.5", 0.5,
             of("perf_map", "read_seconds", order="addresses"), "not measured"),
        line("  in no order, s", "<= 0.5", 0.5,
             of("perf_map", "read_seconds", order="none"), "not measured"),
        line("  memory, MiB", "<= 100", 100, of("perf_map", "resident_mib", order="none"),
             "not measured"),
        line("perf map, 100 k lines/s, % of a core", "<= 5", 5,
             of("perf_map_growing", "core_percent"), "not measured"),
    ]


def a_second(rounds):
    """Events that are there afterwards, for each second that the program fired."""
    return [{"a_second": r["captured"] / r["seconds"]} if r.get("captured") else r for r in rounds]


def ring(of, runs):
    """The ring lane, beside LTTng-UST in the same run. Both are paced where ns are compared."""
    peer, flat = of("lttng paced"), of("lttng flat out 2t")

    def over_lttng(what, name, limit):
        return line(what, f"<= {limit}x", limit, ratios(of(name), peer), why(of(name) + peer))

    def cost(what, limit, name, key, scale=1):
        return line(what, f"<= {limit}", limit, each_event(good(of(name)), key, scale),
                    why(of(name)))

    ours = ratios(a_second(of("ring flat out 2t")), a_second(flat), "a_second")
    return [
        over_lttng("ring lane: event, over LTTng-UST's", "ring", 0.5),
        over_lttng("  with a 28-frame stack, over LTTng-UST's without", "ring stack", 0.75),
        line("  off, ns", "<= 0.5", 0.5,
             [r["ns_min"] for r in runs if r["what"] == "off"], "not measured"),
        lost("  lost at 1 M/s a thread, 2 threads", of("ring 1M/s 2t")),
        accounted("  fired - captured - lost flat out, 2 threads", of("ring flat out 2t")),
        line("  captured/s flat out, over LTTng-UST's", ">= 1x", 1, ours,
             why(of("ring flat out 2t") + flat), at_least=True),
        cost("  bytes on disk an event", 40, "ring", "bytes"),
        cost("  the same with stacks", 40, "ring stack", "bytes"),
        cost("  CPU of tapir an event, us, --no-compress", 0.1, "ring plain", "cpu_seconds", 1e6),
        line("  RSS, MiB", "<= 20", 20, [r["resident_mib"] for r in good(of("ring 1M/s 2t"))],
             why(of("ring 1M/s 2t"))),
    ]


def judge(results, starts, sites, cpu, maps, read, rings):
    """All goals, in the order of the table."""
    def of(name):
        return results.get(name, [])

    def of_reader(what, limit, kind, key):
        return line(what, f"<= {limit}", limit, [r[key] for r in good(read[kind])], why(read[kind]))

    def ratio(what, name, base, limit):
        return line(what, f"<= {limit}x", limit, ratios(of(name), of(base)), why(of(name)))

    def number(what, wanted, limit, name, key, scale=1):
        return line(what, wanted, limit, [r[key] * scale for r in good(of(name)) if key in r],
                    why(of(name)))

    def cost(what, wanted, limit, name, key, scale=1):
        return line(what, wanted, limit, each_event(good(of(name)), key, scale), why(of(name)))

    def of_cpu(what, wanted, limit, key, scale=1):
        return line(what, wanted, limit, [r[key] * scale for r in good(cpu) if key in r], why(cpu))

    reads = [r["captured"] / r["read_seconds"] / 1e6 for r in good(of("tapir")) if r.get("read_seconds")]
    started = [r["start_seconds"] for r in good(starts)]
    closed = [r["closed_seconds"] for r in good(starts)]
    return [
        ratio("event to disk, over the empty uprobe", "tapir", "empty uprobe", 1.25),
        ratio("  the same with --no-compress", "tapir plain", "empty uprobe", 1.25),
        ratio("  the same, 2 threads", "tapir 2t", "empty uprobe 2t", 1.25),
        ratio("31-frame stack, over bpf_get_stack", "tapir stack", "bare get_stack", 0.45),
        ratio("  the same with --no-compress", "tapir stack plain", "bare get_stack", 0.45),
        lost("lost flat out, 1 thread", of("tapir")),
        lost("lost flat out, 2 threads", of("tapir 2t")),
        lost("lost flat out with stacks, 2 threads", of("tapir stack 2t")),
        accounted("fired - captured - lost, 2 threads", of("tapir 2t")),
        cost("CPU of tapir an event, us", "<= 0.35", 0.35, "tapir", "cpu_seconds", 1e6),
        cost("  the same with --no-compress", "<= 0.15", 0.15, "tapir plain", "cpu_seconds", 1e6),
        cost("bytes on disk an event", "<= 40", 40, "tapir", "bytes"),
        line("read back by tapir events, M records/s", ">= 1", 1, reads, why(of("tapir")),
             at_least=True),
        number("RSS without ring pages, MiB", "<= 40", 40, "tapir", "resident_mib"),
        number("stopped and file closed, s", "<= 0.5", 0.5, "tapir", "closed_seconds"),
        line("500 sites on, s", "<= 0.15", 0.15, started, why(starts)),
        line("500 sites: stopped and file closed, s", "<= 0.5", 0.5, closed, why(starts)),
        *ring(of, rings),
        *perf_map(maps),
        line("site, not attached, ns", "<= 0.5", 0.5, [sites["no_arguments"]["median_ns"]], ""),
        line("site with semaphore, not attached, ns", "<= 0.5", 0.5,
             [sites["guarded_five_arguments"]["median_ns"]], ""),
        of_cpu("switch of others, our program, ns", "<= 60", 60, "other_switch_ns"),
        of_cpu("switch of ours, stacks that repeat, ns", "<= 700", 700, "own_switch_ns"),
        of_cpu("CPU sample, 28 frames, our program, us", "<= 3", 3, "sample_program_ns", 1e-3),
        of_cpu("  with the timer's interrupt, us", "<= 5.5", 5.5, "sample_ns", 1e-3),
        of_cpu("  slow-down at 999 Hz, %", "<= 0.6", 0.6, "slowdown", 100),
        of_cpu("bytes on disk a CPU sample", "<= 60", 60, "sample_bytes"),
        of_reader("report of 10 M samples, s", 12, "samples", "seconds"),
        of_reader("report of 10 M events with stacks, s", 12, "events", "seconds"),
        of_reader("  peak memory, MiB", 200, "samples", "mib"),
        of_reader("nettrace of 1 M samples and 1 M events, s", 4, "nettrace", "seconds"),
        of_reader("  peak memory, MiB", 200, "nettrace", "mib"),
    ]
