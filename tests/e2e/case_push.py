# SPDX-License-Identifier: GPL-2.0-or-later
"""What an agent pushes arrives whole, once and in time; what servers do about it harms nobody."""
import gzip
import os
import re
import signal
import time
import urllib.parse

from serve_agent import Server, children, status_of, until, write_config
from case_serve_continuous import freeze, sessions, wait_recording
from messages import attributes, decoded, one, profiles_of
from receiver import Receiver

CHECK_SERVE = {"test_servers_that_misbehave_harm_nobody", "test_profiles_are_pushed_to_parca"}


def start_server(t, push, **continuous):
    config = {"continuous": {"comms": ["burner"], "window_s": 2, "cooldown_s": 0, "frequency": 199, "max_files": 500, **continuous},
              "limits": {"traces": 600}, "push": push}
    return Server(t, "--config", write_config(t, config), "--continuous", "16")


def figures(server):
    """{(figure, target): value} of /metrics."""
    text = server.ask("/metrics")[2].decode()
    return {(name, int(target)): int(value)
            for name, target, value in re.findall(r'^tapir_push_(\w+)\{target="(\d+)",kind="[\w-]+"\} (\d+)$', text, re.M)}


def pusher_of(server):
    """The child that belongs to nobody and is no HTTP process: it has no filter of system calls."""
    return next(pid for pid in children(server.pid)
                if status_of(pid)["Uid"].split()[0] == "65534" and status_of(pid)["Seccomp"].strip() == "0")


def test_profiles_and_recordings_are_pushed(t):
    receiver = Receiver()
    headers = t.path("headers")
    with open(os.open(headers, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="ascii") as file:
        file.write("Authorization: Bearer secret\nX-Scope-OrgID: 7\n")
    t.target("burner", 120000)
    server = start_server(t, [{"kind": "pprof", "url": receiver.url + "/ingest", "name": "fleet{site=a b}", "every_s": 2, "headers_file": headers},
                              {"kind": "otlp-profiles", "url": receiver.url + "/v1development/profiles", "every_s": 2},
                              {"kind": "put", "url": receiver.url + "/bucket"}])

    def got(path):
        return [request for request in receiver.got if request["path"].startswith(path)]

    wait_recording(t, server)
    until(t, lambda: len(got("/ingest")) >= 2 and len(got("/v1development/profiles")) >= 3, "profiles", seconds=60)
    if not os.geteuid():
        pusher = status_of(pusher_of(server))
        t.eq((int(pusher["CapEff"], 16), int(pusher["CapBnd"], 16), pusher["NoNewPrivs"].strip()), (0, 0, "1"), "rights of the process that pushes")
    until(t, lambda: freeze(server) and got("/bucket/"), "a recording")
    put, pprof = got("/bucket/")[0], got("/ingest")[0]
    t.eq((put["method"], pprof["method"]), ("PUT", "POST"), "methods")
    session = next(s["id"] for s in sessions(server) if put["path"].endswith(f"-{s['id']}.tapir"))
    t.eq(put["body"], server.ask(f"/v1/sessions/{session}/trace")[2], "the recording")
    query = urllib.parse.parse_qs(urllib.parse.urlsplit(pprof["path"]).query)
    t.eq((query["name"], query["format"]), (["fleet{site=a b}"], ["pprof"]), "what the profile is")
    t.ok(1 <= int(query["until"][0]) - int(query["from"][0]) <= 6 and abs(time.time() - int(query["until"][0])) < 60, f"when it was: {query}")
    t.eq((pprof["headers"]["Authorization"], pprof["headers"]["X-Scope-OrgID"]), ("Bearer secret", "7"), "headers of the file")
    t.ok("Authorization" not in put["headers"], "not for another target")
    # The first profile may be of two seconds in which other programs had the CPUs.
    until(t, lambda: any(b"burn_much" in gzip.decompress(request["body"]) for request in got("/ingest")), "functions of the profile")

    def times_of(request):
        return [time_ns for profile in profiles_of(t, gzip.decompress(request["body"])) for _, _, _, all_of in profile.rows for time_ns in all_of]

    until(t, lambda: sum(len(times_of(request)) for request in got("/v1development/profiles")) > 100, "a hundred samples", seconds=60)
    end = 0
    for request in got("/v1development/profiles"):
        t.eq((request["headers"]["Content-Type"], request["headers"]["Content-Encoding"]), ("application/x-protobuf", "gzip"), "type")
        times = times_of(request)
        t.ok(not times or min(times) > end, "no observation is in two profiles")
        end = max([end, *times])
    # A server has it before the agent knows that.
    until(t, lambda: all(figures(server)["sent_total", i] >= cnt for i, cnt in enumerate((2, 3, 1))), "figures")
    now = figures(server)
    t.eq([now["dropped_total", i] + now["refused_total", i] for i in range(3)], [0, 0, 0], "nothing is dropped")
    receiver.stop()


def grpc_web(status, as_head=False):
    """A server's answer to a call: its status in the head, or after an empty message as trailers in the body."""
    def answer(handler, _request):
        trailers = f"grpc-status: {status}\r\n".encode()
        body = b"" if as_head else b"\0\0\0\0\0\x80" + len(trailers).to_bytes(4, "big") + trailers
        handler.reply(200, body, Content_Type="application/grpc-web+proto", **({"Grpc_Status": str(status)} if as_head else {}))
    return answer


def check_as_parca_does(t, profile):
    """What its profile store demands of a profile: tables in order, every reference in its table."""
    size = len(profile["string_table"])
    t.eq(profile["string_table"][0], "", "the first text")
    for table in "function", "location":
        t.eq([one(row, "id") for row in profile[table]], list(range(1, len(profile[table]) + 1)), f"ids of {table}")
    t.ok(all(0 < one(row, "name") < size for row in profile["function"]), "names of functions")
    t.ok(all(0 < one(line, "function_id") <= len(profile["function"]) for row in profile["location"] for line in row["line"]), "lines")
    t.ok(len(profile["sample"]) > 0 and one(profile, "period_type", None), "samples, and of what")
    for sample in profile["sample"]:
        t.eq(len(sample["value"]), len(profile["sample_type"]), "values")
        t.ok(all(0 < nr <= len(profile["location"]) for nr in sample["location_id"]), "locations")


def test_profiles_are_pushed_to_parca(t):
    answers = {"good": grpc_web(0), "head": grpc_web(0, True), "refuses": grpc_web(3, True), "later": grpc_web(14), "other": None}
    receivers = [Receiver(answer) for answer in answers.values()]
    t.target("burner", 120000)
    server = start_server(t, [{"kind": "parca", "url": receiver.url + "/", "name": "fleet{site=a b,node=n_1}", "every_s": 2} for receiver in receivers])
    wait_recording(t, server)
    until(t, lambda: receivers[0].got and all(figures(server)[f"{'sent' if i < 2 else 'refused' if i == 2 else 'failed_attempts'}_total", i] > 0
                                              for i in range(5)), "what came of each", seconds=60)
    now = figures(server)
    t.eq([now["sent_total", i] > 0 for i in range(5)], [True, True, False, False, False], f"who has taken it: {now}")
    for receiver, words in zip(receivers[2:], ("gRPC status 3", "gRPC status 14", "the answer has no gRPC status")):
        t.eq([words in line for line in server.process.err if receiver.url in line], [True], f"one line: {server.process.err}")
    request = receivers[0].got[0]
    t.eq((request["method"], request["path"], request["headers"]["Content-Type"]),
         ("POST", "/parca.profilestore.v1alpha1.ProfileStoreService/WriteRaw", "application/grpc-web+proto"), "the call")
    t.eq((request["body"][0], int.from_bytes(request["body"][1:5], "big")), (0, len(request["body"]) - 5), "its head")
    series = one(decoded(t, request["body"][5:], "tapir.parca.WriteRawRequest", "parca.proto"), "series")
    t.eq({one(label, "name"): one(label, "value") for label in one(series, "labels")["labels"]},
         {"__name__": "process_cpu", "job": "fleet", "site": "a b", "node": "n_1"}, "labels")
    raw = request["body"][request["body"].index(b"\x1f\x8b"):]  # protoc shows bytes as text, which is not exact
    profile = decoded(t, gzip.decompress(raw), "tapir.pprof.Profile", "pprof.proto")
    check_as_parca_does(t, profile)
    t.ok("burn_much" in profile["string_table"], "functions of the profile")
    for receiver in receivers:
        receiver.stop()


def test_figures_are_pushed_as_metrics_has_them(t):
    receiver = Receiver()
    server = Server(t, "--config", write_config(t, {"push": [{"kind": "otlp-metrics", "url": receiver.url + "/v1/metrics", "every_s": 1}]}))
    until(t, lambda: len(receiver.got) >= 3, "figures")
    request = receiver.got[-1]
    t.eq((request["method"], request["path"], request["headers"]["Content-Type"]), ("POST", "/v1/metrics", "application/x-protobuf"), "request")
    of = one(decoded(t, gzip.decompress(request["body"]), "tapir.otlp.MetricsData"), "resource_metrics")
    t.eq(attributes(one(of, "resource"))["service.name"], "tapir", "whose they are")
    pushed = {}
    for metric in one(of, "scope_metrics")["metrics"]:
        kind = next(kind for kind in ("sum", "gauge") if metric[kind])
        for point in one(metric, kind)["data_points"]:
            labels = ",".join(f'{key}="{value}"' for key, value in attributes(point).items())
            pushed[one(metric, "name"), labels] = (kind, point["as_double"][0])
            t.ok(abs(time.time() - one(point, "time_unix_nano") / 1e9) < 60, "when it was")
    text = server.ask("/metrics")[2].decode()
    types = {name: "sum" if kind == "counter" else kind for name, kind in re.findall(r"^# TYPE (\S+) (\S+)$", text, re.M)}
    scraped = {(name, labels): types[name] for name, labels in re.findall(r"^(\w+)(?:\{(.*)\})? \S+$", text, re.M)}
    t.eq({key: kind for key, (kind, _) in pushed.items()}, scraped, "names, labels and types")
    t.ok(pushed["tapir_requests_total", ""][1] >= 0 and pushed["tapir_uptime_seconds", ""][1] > 0, "values")
    t.ok("not understood" not in "".join(server.process.err), "every line is taken")
    server.process.signal(signal.SIGTERM)
    t.eq(server.process.wait().rc, 0, "the end of the agent")
    receiver.stop()


def make_certificate(t, name, address):
    """A certificate that signs itself, for this address, and its key."""
    made = t.path(name + ".pem"), t.path(name + ".key")
    t.run(t.need("openssl"), "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
          "-keyout", made[1], "-out", made[0], "-subj", "/CN=" + name, "-addext", "subjectAltName=IP:" + address)
    return made


def test_tls_is_checked_by_the_certificates_that_are_named(t):
    """Others, those of the system, and one for another address are refused: nothing is sent there."""
    right, other, elsewhere = make_certificate(t, "right", "127.0.0.1"), make_certificate(t, "other", "127.0.0.1"), make_certificate(t, "elsewhere", "127.0.0.2")
    receivers = [Receiver(tls=right), Receiver(tls=right), Receiver(tls=right), Receiver(tls=elsewhere)]
    named = [right[0], other[0], None, elsewhere[0]]
    t.target("burner", 120000)
    server = start_server(t, [{"kind": "put", "url": receiver.url, **({"ca_file": ca} if ca else {})} for receiver, ca in zip(receivers, named)])
    wait_recording(t, server)
    until(t, lambda: freeze(server) and receivers[0].got, "a recording", seconds=30)
    until(t, lambda: all(figures(server)["failed_attempts_total", i] > 0 for i in (1, 2, 3)), "attempts", seconds=30)
    t.eq(figures(server)["failed_attempts_total", 0], 0, "attempts that failed where the certificate is right")
    t.eq([len(receiver.got) for receiver in receivers[1:]], [0, 0, 0], "requests with wrong certificates")
    for receiver in receivers[1:]:
        lines = [line for line in server.process.err if receiver.url in line]
        t.ok(len(lines) == 1 and "certificate" in lines[0], f"one line: {lines}")
    server.process.signal(signal.SIGTERM)
    t.eq(server.process.wait().rc, 0, "the end of the agent")
    for receiver in receivers:
        receiver.stop()


def test_servers_that_misbehave_harm_nobody(t):
    """Each as a target of its own; the last one, beside them, is served."""
    other = Receiver()

    def once_busy(handler, request):
        handler.reply(429, Retry_After="3") if len(busy.got) == 1 else handler.reply(200)

    def closes(handler, request):
        handler.connection.close()

    answers = {
        "missing": lambda handler, request: handler.reply(404, b"no such resource"),
        "moved": lambda handler, request: handler.reply(307, Location=other.url + "/stolen"),
        "hangs": lambda handler, request: handler.hang(),
        "drips": lambda handler, request: handler.drip(),
        "closes": closes,
        "refuses": lambda handler, request: handler.reply(400),
        "floods": lambda handler, request: handler.flood(1 << 30),
    }
    receivers = {name: Receiver(answer) for name, answer in answers.items()}
    busy, good = Receiver(once_busy), Receiver()
    receivers.update(busy=busy, good=good)
    names = list(receivers)
    t.target("burner", 120000)
    server = start_server(t, [{"kind": "put", "url": receiver.url + "/x", "timeout_s": 2 if name in ("hangs", "drips") else 30} for name, receiver in receivers.items()])
    wait_recording(t, server)
    until(t, lambda: freeze(server) and sessions(server), "a recording")
    until(t, lambda: len(busy.got) >= 2 and len(good.got) >= 1, "a recording there", seconds=30)
    t.ok(busy.got[1]["at"] - busy.got[0]["at"] >= 2.9, "not before the server wants it")
    until(t, lambda: all(len(receivers[name].got) >= 2 for name in ("hangs", "drips", "closes")), "attempts that are repeated", seconds=60)
    t.eq(server.json("/healthz", token="")["status"], "ok", "the agent answers")
    until(t, lambda: receivers["floods"].flooded is not None, "the end of a flood")
    t.ok(receivers["floods"].flooded < 16 << 20, "what was read of an answer")
    t.eq(other.got, [], "requests to where a server pointed")
    for name in ("missing", "moved"):
        attempts = [request["at"] for request in receivers[name].got]
        t.ok(1 <= len(attempts) <= 1 + (time.monotonic() - attempts[0]) / 29, f"{name}: it is left alone for a while")
    taking = ("floods", "busy", "good")
    until(t, lambda: all(figures(server)["sent_total" if name in taking else "refused_total" if name == "refuses" else "failed_attempts_total", i] > 0
                         for i, name in enumerate(names)), "figures of all")
    until(t, lambda: server.json("/healthz", token="")["push"] == {"running": True, "targets": len(names), "failing": len(names) - len(taking)}, "the same, for anybody")
    now = figures(server)
    for i, name in enumerate(names):
        taken = name in taking
        t.eq(now["sent_total", i] > 0, taken, f"{name} has taken it: {now}")
        t.eq(now["refused_total", i] > 0, name == "refuses", f"{name} does not want it")
        lines = [line for line in server.process.err if receivers[name].url + "/x" in line]
        t.eq(len([line for line in lines if "again" not in line]), 0 if name in ("good", "floods") else 1, f"{name}: one line: {lines} of {server.process.err}")
    with open(f"/proc/{pusher_of(server)}/status" if not os.geteuid() else "/dev/null", encoding="ascii") as file:
        rss = re.search(r"VmRSS:\s+(\d+) kB", file.read())
    t.ok(not rss or int(rss.group(1)) < 65536, f"memory: {rss}")
    for receiver in (other, *receivers.values()):
        receiver.stop()


def test_wrong_targets_are_one_line(t):
    for push, line in (([{"kind": "pprof", "url": "http://127.0.0.1:1/"}], "push: 'pprof' requires a continuous recording"),
                       ([{"kind": "put", "url": "file:///etc/passwd"}], "'url' is an http:// or https:// address"),
                       ([{"kind": "put", "url": "http://a:b@127.0.0.1/"}], "put Authorization into headers_file"),
                       ([{"kind": "put"}], "'push' is objects with 'kind' and 'url'"),
                       ([{"kind": "post", "url": "http://x/"}], "'kind' is \"pprof\", \"parca\", \"otlp-profiles\", \"otlp-metrics\" or \"put\""),
                       ([{"kind": "put", "url": "http://x/", "header": "x"}], "unknown key 'header': known are kind, url"),
                       ([{"kind": "put", "url": "http://x/", "headers_file": t.path("none")}], t.path("none")),
                       ([{"kind": "put", "url": "https://x/", "ca_file": t.path("none")}], t.path("none")),
                       ([{"kind": "put", "url": "https://x/", "ca_file": "/dev/null"}], "/dev/null"),
                       ([{"kind": "parca", "url": "http://x/"}], "push: 'parca' requires a continuous recording")):
        result = t.tapir("serve", "--config", write_config(t, {"push": push}), "--listen", "127.0.0.1:0", "--state", t.path("state"), expect=None)
        t.ok(result.rc in (1, 2) and line in result.err, f"{push}: exit {result.rc} {result.err}")
