# SPDX-License-Identifier: GPL-2.0-or-later
"""What processes publish of themselves by OpenTelemetry's process context (OTEP 4719): tests/e2e/targets/publisher.c."""

HOSTILE = ["unmapped", "kernel", "huge", "changing", "flapping", "garbage", "nested", "many", "stuck"]
UNREADABLE = ["unmapped", "kernel", "huge", "changing", "stuck"]  # flapping may be, too
OPTIONS = ("-F", 99, "--no-sched")


def record(t, modes):
    """A recording of one publisher for each mode: the file, and their pids by mode."""
    file, started = t.path("trace.tapir"), {mode: t.target("publisher", "--wait", mode) for mode in modes}
    pids = ",".join(str(process.pid) for process in started.values())
    tapir = t.start_tapir("record", *OPTIONS, "-p", pids, "-f", "-o", file)
    tapir.wait_ready()
    for process in started.values():
        process.go()
    t.eq([process.wait().rc for process in started.values()], [0] * len(started), "exits of the publishers")
    t.eq(tapir.wait().rc, 0, "exit of tapir")
    return file, {mode: process.pid for mode, process in started.items()}


def services(t, file):
    return {row["pid"]: row.get("service") for row in t.report(file)["processes"]}


def resources(t, file, pid):
    return [record["resource"] for record in t.events(file, "resource") if record["pid"] == pid]


def test_a_recording_has_what_a_service_says_of_itself(t):
    file, pids = record(t, ["service", "nothing"])
    told = resources(t, file, pids["service"])
    t.eq(told[0], {"service.name": "checkout", "service.version": "1.2.3", "telemetry.sdk.language": "c"}, "first")
    t.ok(len(told) <= 2 and told[-1]["service.name"] in ("checkout", "checkout-2"), f"{told}")
    t.eq(resources(t, file, pids["nothing"]), [], "of one that says nothing")
    named = services(t, file)
    t.ok(named[pids["service"]] == told[-1]["service.name"] and named[pids["nothing"]] is None, f"{named}")
    t.ok(f"\nservices: {told[-1]['service.name']} ({pids['service']})\n" in t.tapir("report", file, "--all").out, "the report's head")
    t.ok('resource {"resource":{"service.name":"checkout"' in t.tapir("events", file).out, "events as text")
    t.eq(t.report(file)["incomplete"], {}, "losses")
    out = t.path("otlp")
    t.eq(t.tapir("export", "--format", "otlp", file, "-o", out).rc, 0, "export")
    with open(out, "rb") as profiles:
        data = profiles.read()
    t.ok(b"\x0a\x0cservice.name\x12" in data and told[-1]["service.name"].encode() in data, "the service in OpenTelemetry's profiles")


def test_what_a_process_says_ends_with_its_program(t):
    file, pids = record(t, ["exec"])
    t.eq(resources(t, file, pids["exec"])[0]["service.name"], "checkout", "before")
    t.eq(len(resources(t, file, pids["exec"])), 1, "resources of both programs")


def test_processes_are_listed_with_their_service(t):
    service, stuck = t.target("publisher", "--wait", "service"), t.target("publisher", "--wait", "stuck")
    rows = {row["pid"]: row for row in t.tapir("ps", "--all", "--json").json_lines()}
    t.eq((rows[service.pid]["service"], rows[stuck.pid]["service"]), ("checkout", None), "services")
    table = t.tapir("ps", "--all").out.splitlines()
    t.ok(any(line.split()[0] == str(service.pid) and "publisher (checkout)" in line for line in table), "\n".join(table))


def test_nothing_is_believed_of_a_hostile_publisher(t):
    file, pids = record(t, HOSTILE + ["service"])
    t.eq(resources(t, file, pids["service"])[0]["service.name"], "checkout", "beside them")
    for mode in HOSTILE:
        values = [value for told in resources(t, file, pids[mode]) for value in told.values()]
        t.ok(all(value is None for value in values), f"{mode}: {str(values)[:500]}")
    lost = t.report(file)["incomplete"].get("resource_unreadable", 0)
    t.ok(len(UNREADABLE) <= lost <= len(UNREADABLE) + 1, f"{lost} could not be read")
