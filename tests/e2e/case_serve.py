# SPDX-License-Identifier: GPL-2.0-or-later
"""tapir serve: requests over HTTP, who may make them, what comes back, what is left afterwards."""
import json
import os
import re
import signal
import socket

from case_lines import BUILD, SOURCE
from dotnet_program import build_dotnet
from serve_agent import Server, begin_session, children, status_of, until, write_config


def test_requests_are_answered_refused_and_logged(t):
    server = Server(t)
    # Who may ask.
    t.eq(server.json("/healthz", token="")["status"], "ok", "health")
    for token in ("", "x" * 64, server.token[:-1], server.token + "x"):
        server.json("/v1/processes", token=token, expect=401)
    t.eq(server.ask("/v1/processes", token="", Authorization="Digest x")[0], 401, "another scheme")
    server.json("/v1/processes", Host="rebound.example", expect=403)
    server.json("/v1/processes", Origin="http://evil.example", expect=403)
    server.json("/v1/processes", Sec_Fetch_Site="cross-site", expect=403)
    t.eq(os.stat(os.path.join(server.state, "token")).st_mode & 0o777, 0o600, "mode of the token")
    # What there is, and what is not.
    document = server.json("/v1/openapi.json", token="")
    for path in ("/v1", "/v1/../etc/passwd", "/v1/processes/%2e%2e/x", "/%00", "/healthz%00", "/v1/processes/1/2"):
        server.json(path, expect=404)
    status, headers, _ = server.ask("/v1/processes", method="POST", body="{}")
    t.eq((status, headers.get("allow")), (405, "GET"), "another method")
    t.ok("/v1/profile" in document["paths"], "the document lists profile")
    # Every response is inert in a browser.
    headers = server.ask("/healthz")[1]
    t.eq((headers["x-content-type-options"], headers["cache-control"]), ("nosniff", "no-store"), "headers")
    t.ok("default-src 'none'" in headers["content-security-policy"], headers["content-security-policy"])
    # Requests that are wrong, with the name of the parameter.
    for query, status, start in (
            ("pid=1x", 400, "pid:"), ("", 400, "pid:"), ("pid=1&seconds=0", 400, "seconds:"), ("pid=1&seconds=601", 400, "seconds:"),
            ("pid=1&events=/etc/passwd:x", 400, "events:"), ("pid=1&path=/etc", 400, "path:"), ("pid=1&format=exe", 400, "format:"),
            ("pid=1&events=storm:hit&where=1%2B", 400, "where:"),
            ("pid=4194303", 404, "process 4194303"), (f"pid={server.pid}&started=1", 409, "started:")):
        error = server.json("/v1/profile?" + query, expect=status)["error"]
        t.ok(error.startswith(start), f"{query}: {error}")
    for line in server.audit("wrong-token GET /v1/processes"):
        t.ok(server.token not in line, "a token is in the log")
    # Ten wrong tokens per minute are allowed; the right one still works after them.
    statuses = [server.ask("/v1/processes", token="y" * 64)[0] for _ in range(12)]
    t.eq((statuses[0], statuses[-1]), (401, 429), "statuses of wrong tokens")
    server.json("/v1/processes")
    server.process.signal(signal.SIGTERM)
    t.eq(server.process.wait().rc, 0, "exit status")


def test_profile_is_the_recording_of_a_process(t):
    target = t.target("burner", 60000)
    server = Server(t)
    listed = server.json("/v1/processes?all=true&name=burner")["processes"]
    mine = next(p for p in listed if p["pid"] == target.pid)
    one = server.json(f"/v1/processes/{target.pid}")
    t.eq((one["pid"], one["started"], "checks" in one), (target.pid, mine["started"], True), "one process")
    path = f"/v1/profile?pid={target.pid}&started={mine['started']}&seconds=0.3&no_sched=1"
    status, headers, trace = server.ask(path)
    t.eq(status, 200, f"status: {trace[:300]}")
    t.ok("attachment" in headers["content-disposition"], headers["content-disposition"])
    with open(t.path("got.tapir"), "wb") as file:
        file.write(trace)
    report = t.report(t.path("got.tapir"))
    t.eq([p["pid"] for p in report["processes"]], [target.pid], "processes of the trace")
    t.ok(server.ask(path + "&format=sqlite")[2].startswith(b"SQLite format 3\0"), "a database")
    scope = server.json(path + "&format=speedscope")
    t.ok(scope["name"].startswith("recording of 20"), f"its name: {scope['name']}")
    t.ok(scope["profiles"] and scope["$schema"].startswith("https://www.speedscope.app"), "a speedscope file")
    server.audit(f"accepted GET /v1/profile pid={target.pid}")


def test_http_process_has_no_rights_and_is_replaced(t):
    server = Server(t)
    front = children(server.pid)[0]
    server.json("/healthz")  # it serves in its sandbox only
    status = status_of(front)
    t.eq([int(status[name], 16) for name in ("CapEff", "CapPrm", "CapBnd")], [0, 0, 0], "capabilities")
    t.eq((status["NoNewPrivs"], status["Seccomp"]), ("1", "2"), "no_new_privs and seccomp")
    if os.getuid() == 0:
        t.eq(status["Uid"].split(), ["65534"] * 4, "user")
    os.kill(front, signal.SIGKILL)
    until(t, lambda: front not in children(server.pid) and children(server.pid), "another HTTP process")
    until(t, lambda: status_of(children(server.pid)[0]).get("Seccomp") == "2", "its sandbox")
    server.json("/v1/processes")


def test_recording_ends_with_its_client_and_with_the_agent(t):
    target = t.target("burner", 60000)
    server = Server(t)
    front = children(server.pid)[0]

    def begin():
        sock = server.connect()
        sock.sendall(f"GET /v1/profile?pid={target.pid}&seconds=60 HTTP/1.1\r\nHost: localhost\r\n"
                     f"Authorization: Bearer {server.token}\r\n\r\n".encode())
        until(t, lambda: set(children(server.pid)) - {front}, "a task")
        return sock, (set(children(server.pid)) - {front}).pop()

    sock, _ = begin()
    sock.close()
    until(t, lambda: children(server.pid) == [front], "the end of the task whose client has gone")
    sock, task = begin()
    os.kill(task, signal.SIGKILL)
    answer = sock.recv(4096).decode()
    t.ok(answer.startswith("HTTP/1.1 500") and "was killed" in answer, f"a request whose process is killed: {answer}")
    sock.close()
    until(t, lambda: children(server.pid) == [front], "the end of the killed task")
    sock, task = begin()
    server.process.signal(signal.SIGKILL)
    until(t, lambda: not os.path.exists(f"/proc/{task}") and not os.path.exists(f"/proc/{front}"),
          "the end of what a killed agent had started")
    t.ok(os.path.exists(f"/proc/{target.pid}"), "the target lives")
    sock.close()


def test_malformed_requests_harm_nobody(t):
    server = Server(t, "--config", write_config(t, {"limits": {"connections": 16}}))
    long = b"x" * 100000
    for data in (b"\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\x00\xff\xfe" * 50 + b"\r\n\r\n",
                 b"GET /" + long + b" HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1\r\nX: " + long + b"\r\n\r\n",
                 b"GET /healthz HTTP/1.1\r\nContent-Length: -5\r\n\r\n",
                 b"POST /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 999999999\r\n\r\n" + long,
                 b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"):
        answer = server.raw(data + b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n")
        t.ok(not answer or answer.startswith(b"HTTP/1."), f"{data[:40]!r}: {answer[:80]!r}")
    # More connections than the agent accepts, and no request on any of them.
    idle = [server.connect() for _ in range(32)]
    for sock in idle:
        sock.close()

    def answers():
        try:
            return server.json("/healthz")["status"] == "ok"
        except ConnectionError:  # it may not have seen yet that they are gone
            return False

    until(t, answers, "an answer after idle connections")


def write_tokens(t, tokens):
    """The path of a file of them, in place of the one that was there."""
    path = t.path("tokens.json")
    with open(path + ".new", "w", encoding="ascii") as file:
        json.dump({"tokens": tokens}, file)
    os.chmod(path + ".new", 0o600)
    os.rename(path + ".new", path)
    return path


def test_roles_come_from_a_file_that_may_change(t):
    tokens = [{"name": role, "role": role, "token": role * 8} for role in ("view", "profile", "admin")]

    for token in tokens:
        token["token"] = token["token"].ljust(32, "0")
    path = write_tokens(t, tokens)
    server = Server(t, "--config", write_config(t, {"tokens_file": path}))
    t.ok(not os.path.exists(os.path.join(server.state, "token")), "no token beside those of the file")
    server.json("/v1/processes", token=tokens[0]["token"])
    server.json("/v1/profile?pid=4194303", token=tokens[0]["token"], expect=403)
    server.json("/v1/profile?pid=4194303", token=tokens[1]["token"], expect=404)
    tokens[1]["expires"] = "2001-01-01T00:00:00Z"
    write_tokens(t, tokens)
    until(t, lambda: server.ask("/v1/processes", token=tokens[1]["token"])[0] == 401, "the end of an expired token")
    server.json("/v1/processes", token=tokens[2]["token"])


def test_unix_socket_is_for_its_owner(t):
    path = t.path("agent.sock")
    for _ in range(2):  # the second agent takes over the socket of one that was killed
        server = Server(t, listen="unix:" + path)
        t.eq(os.stat(path).st_mode & 0o777, 0o600, "mode of the socket")
        server.json("/v1/processes", Host="any.example")
        t.ok(not server.token, "no token is made")
        if _ == 0:
            server.process.signal(signal.SIGKILL)
            server.process.wait()
    t.eq(t.tapir("serve", "--listen", "unix:" + path, "--state", "memory", expect=1).err.count("\n"), 1, "lines about a taken socket")
    server.process.signal(signal.SIGINT)
    t.eq(server.process.wait().rc, 0, "exit status")
    t.ok(not os.path.exists(path), "the socket's name is gone")


def test_wrong_configuration_is_one_line(t):
    for args, rc, word in ((("--listen", "nowhere"), 2, "--listen nowhere"), (("--listen", "unix:x"), 2, "absolute path"),
                           (("--listen", "127.0.0.1:0", "--state", "memory"), 2, "tokens_file"),
                           (("--config", t.path("none.json")), 1, "none.json"),
                           (("--config", write_config(t, {"stat": 1})), 2, "unknown key 'stat'"),
                           (("--state", "/proc/nowhere", "--listen", "127.0.0.1:0"), 1, "/proc/nowhere")):
        result = t.tapir("serve", *args, expect=rc)
        t.ok(word in result.err and len(result.err.splitlines()) == 1, f"{args}: {result.err}")


def test_answers_about_a_process_are_those_of_the_command_line(t):
    target = t.target("burner", 60000)
    server = Server(t)
    stacks = server.json(f"/v1/stacks?pid={target.pid}")
    t.ok(any(f["function"] == "burn" for g in stacks["groups"] for f in g["frames"]), "a stack of the burner")
    t.eq(server.json(f"/v1/stacks?pid={target.pid}&threads=-n")["groups"], [], "threads of a name that looks like an option")
    # On a busy machine the target has a CPU for a part of the time: 2 s are long enough for a sample of it.
    view = server.json(f"/v1/views/cpu?pid={target.pid}&seconds=2")
    t.ok("burn_much" in json.dumps(view), view)
    requests = server.json(f"/v1/requests?pid={target.pid}&seconds=0.2&top=3")
    t.eq((requests["view"], requests["count"]), ("requests", 0), "requests of a process that serves none")
    server.json(f"/v1/requests?pid={target.pid}&event=x", expect=400)
    found = server.json(f"/v1/findings?pid={target.pid}&seconds=0.2")
    t.ok(f"burner ({target.pid})" in found["headline"] and "findings" in found and "functions" not in found, found)
    for path in ("/v1/views/nothing?pid=1", "/v1/views/slow?pid=1", "/v1/views/cpu%20-o?pid=1", "/v1/stacks"):
        server.json(path, expect=400)
    metrics = server.ask("/metrics")[2].decode()
    for line in metrics.splitlines():
        t.ok(re.fullmatch(r"# (HELP|TYPE) .+|tapir_[a-z_]+(\{(version|pid)=\".+\"\})? [-+.e0-9]+", line), f"metrics: {line}")
    # CPU time and memory of processes, always; the burner is one of those with the most CPU time, or this machine has 40 that have more.
    used = dict(re.findall(r'^tapir_process_cpu_seconds_total\{pid="(\d+)",process=".*"\} (\S+)$', metrics, re.M))
    resident = dict(re.findall(r'^tapir_process_resident_memory_bytes\{pid="(\d+)",process=".*"\} (\S+)$', metrics, re.M))
    t.ok(0 < len(used) <= 80 and set(used) == set(resident), f"processes: {len(used)}, {len(resident)}")
    t.ok(len(used) == 80 or float(used.get(str(target.pid), 0)) > 0, f"the burner's CPU time: {used.get(str(target.pid))}")
    most = max(resident, key=lambda pid: float(resident[pid]))
    with open(f"/proc/{most}/status", encoding="ascii", errors="replace") as file:
        kb = int(next(line for line in file if line.startswith("VmRSS")).split()[1])
    t.ok(0.5 < float(resident[most]) / 1024 / kb < 2, f"the largest process: {resident[most]} bytes, {kb} KB")
    t.ok("tapir_recordings_total 3\n" in metrics, "recordings are counted")
    figure = {name: float(value) for name, value in re.findall(r"^tapir_(\w+) (\S+)$", metrics, re.M)}
    t.ok(figure["captured_records_total"] > 50 and figure["lost_records_total"] >= 0, f"records of both: {figure}")
    t.ok(figure["children_cpu_seconds_total"] > 0.05 and figure["children_resident_memory_bytes"] > 1 << 20, f"what children cost: {figure}")
    error = server.json(f"/v1/views/slow?pid={target.pid}&seconds=0.2&event=nothing", expect=404)["error"]
    t.ok("no interval 'nothing'" in error, error)


def test_messages_name_parameters_and_no_options(t):
    """What a view or finding lacks is said in words of the agent, whose clients have no command line."""
    target = t.target("burner", 60000)
    server = Server(t)
    session = begin_session(server, pid=target.pid)
    until(t, lambda: server.json(session)["samples"] > 20, "samples")
    t.eq(server.json(session + "/stop?format=none", method="POST"), {}, "its end")
    texts = {}
    for view in ("gc", "jit", "contention", "exceptions", "allocations", "threadpool", "offcpu", "io", "net", "syscalls", "signals", "kernel",
                 "native-memory", "counters", "processes", "tree", "cpu"):
        answer = server.json(f"{session}/views/{view}?top=1")
        texts[view] = [answer["headline"], *answer.get("notes", [])]
    texts["findings"] = server.json(session + "/findings")["first_screen"].splitlines()
    t.ok("`io` records them" in texts["io"][0], f"{texts['io']}")
    for name, lines in texts.items():
        for line in lines:
            t.ok(not re.search(r"(?<![\w-])--[a-z]|\btapir (record|report|symbolize)\b", line), f"{name}: {line}")
    # The same recording on a terminal has its options.
    with open(t.path("x.tapir"), "wb") as file:
        file.write(server.ask(session + "/trace")[2])
    t.ok("`tapir record --io`" in t.tapir("report", t.path("x.tapir"), "--view", "io").out, "on a terminal")
    page = server.ask("/sessions/" + session.rsplit("/", 1)[1])[2].decode()
    t.ok(not re.search(r"tapir (record|report) ", page), "the page of the recording")


def test_session_that_is_stopped_in_its_first_moment_is_finished(t):
    target = t.target("burner", 60000)
    server = Server(t)
    for _ in range(6):
        path = begin_session(server, pid=target.pid)
        status, _, trace = server.ask(path + "/stop", method="POST")
        t.eq(status, 200, f"status: {trace[:300]}")
        t.eq(server.json(path)["state"], "finished", "its state")
        with open(t.path("session.tapir"), "wb") as file:
            file.write(trace)
        t.tapir("report", t.path("session.tapir"))


def test_session_is_its_trace_when_it_ends(t):
    target = t.target("burner", 60000)
    server = Server(t, "--config", write_config(t, {"limits": {"sessions": 2}}))
    first, second = begin_session(server, pid=target.pid), begin_session(server, pid=[target.pid], lease=1)
    status, headers, _ = server.ask("/v1/sessions", method="POST", body=json.dumps({"pid": target.pid}))
    t.eq((status, headers.get("retry-after", "0") > "0"), (429, True), "a third of two")
    server.json("/readyz", expect=503)
    for session in first, second:
        until(t, lambda path=session: server.json(path)["samples"] > 0, "samples")
    server.json(first + "/trace", expect=409)
    status, _, trace = server.ask(first + "/stop", method="POST")
    t.eq(status, 200, f"status: {trace[:300]}")
    with open(t.path("session.tapir"), "wb") as file:
        file.write(trace)
    t.eq([p["pid"] for p in t.report(t.path("session.tapir"))["processes"]], [target.pid], "processes of the trace")
    t.eq(server.ask(first + "/trace")[2], trace, "the trace once more")
    figures = server.json(first)
    # Nobody asked about it for a second.
    until(t, lambda: json.loads(server.ask("/v1/sessions")[2])["sessions"][1]["state"] == "finished", "the end of a lease")
    t.ok(server.ask(second + "?format=folded", method="DELETE")[2].startswith(b"burner;"), "folded stacks")
    server.json(second, expect=404)
    for body, start in (("{", "body:"), ('{"pid": 1, "x": 2}', "x:"), ('{"pid": "1; reboot"}', "pid:"), ("[]", "body:"), ("", "pid:"),
                        ('{"pid": 1, "events": ["storm:hit"], "where": "arg0 >"}', "where:")):
        error = server.json("/v1/sessions", method="POST", body=body, expect=400)["error"]
        t.ok(error.startswith(start), f"{body}: {error}")
    path = begin_session(server, pid=4194303)
    until(t, lambda: server.json(path)["state"] == "failed", "a recording of no process fails")
    t.ok("4194303" in server.json(path)["error"], "its error")
    server.process.signal(signal.SIGTERM)
    t.eq(server.process.wait().rc, 0, "exit status")
    again = Server(t)
    t.eq(again.ask(first + "/trace")[2], trace, "the trace of an agent that has ended")
    t.eq(again.json(first), figures, "its figures")


def test_archive_of_a_session_has_lines_when_its_files_are_gone(t):
    program = t.path("inlined")
    t.run(t.need("gcc"), *BUILD, SOURCE, "-o", program)
    server = Server(t)
    target = t.start(program, "60")
    session = begin_session(server, pid=target.pid)
    until(t, lambda: server.json(session)["samples"] > 20, "samples")
    plain = server.ask(session + "/stop", method="POST")[2]
    status, headers, archive = server.ask(session + "/trace?format=archive")
    t.ok(status == 200 and headers["content-disposition"].endswith('.tapir"'), f"{status} {headers} {archive[:300]}")
    target.kill()
    os.unlink(program)
    found = {}
    for name, data in (("plain", plain), ("archive", archive)):
        with open(t.path(name), "wb") as file:
            file.write(data)
        found[name] = set(re.findall(r"\binlined\.c:\d+", t.tapir("export", "--format", "folded", t.path(name), "--lines").out))
    t.eq(found["plain"], set(), "the recording alone has none")
    t.ok(found["archive"], "lines of the archive")
    t.eq(t.report(t.path("archive"))["functions"], t.report(t.path("plain"))["functions"], "what was recorded")
    # Debug files beyond the limit are refused with the reason, and the session stays.
    t.run(t.need("gcc"), *BUILD, SOURCE, "-o", program)
    os.truncate(program, 513 << 20)
    target = t.start(program, "60")
    session = begin_session(server, pid=target.pid)
    until(t, lambda: server.json(session)["samples"] > 20, "samples")
    t.eq(server.ask(session + "/stop", method="POST")[0], 200, "it ends")
    status, _, data = server.ask(session + "/trace?format=archive")
    t.ok(status >= 500 and b"larger than" in data, f"beyond the limit: {status} {data[:300]}")
    server.json(session + "/trace?format=none", expect=400)
    status, _, data = server.ask(session + "?format=archive", method="DELETE")
    t.ok(status >= 500 and b"larger than" in data, f"beyond the limit: {status} {data[:300]}")
    until(t, lambda: server.ask(session)[0] == 200, "the session stays")
    target.kill()


def test_archive_is_for_who_may_record(t):
    tokens = [{"name": "a", "role": "profile", "token": "a" * 32}]

    path = write_tokens(t, tokens)
    server = Server(t, "--config", write_config(t, {"tokens_file": path}))
    target = t.target("burner", 60000)
    server.token = "a" * 32
    session = begin_session(server, pid=target.pid)
    until(t, lambda: server.json(session)["samples"] > 0, "samples")
    t.eq(server.ask(session + "/stop", method="POST")[0], 200, "it ends")
    t.eq(server.ask(session + "/trace?format=archive")[0], 200, "for role profile")
    tokens[0]["role"] = "view"
    write_tokens(t, tokens)
    until(t, lambda: server.json("/v1/whoami")["role"] == "view", "another role")
    server.json(session + "/trace?format=archive", expect=403)
    t.eq(server.ask(session + "/trace")[0], 200, "its trace alone")


def test_recording_whose_last_answer_fails_is_kept(t):
    target = t.target("burner", 60000)
    server = Server(t)
    sessions = []
    for _ in range(3):
        sessions.append(begin_session(server, pid=target.pid))
        until(t, lambda: server.json(sessions[-1])["samples"] > 0, "samples")
        t.eq(server.json(sessions[-1] + "/stop?format=none", method="POST"), {}, "the answer to a stop without a trace")
    broken, left, plain = sessions

    def file_of(session):
        return os.path.join(server.state, session.rsplit("/", 1)[1] + ".tapir")

    # An export that fails: what has no header is no recording for it.
    with open(file_of(broken), "r+b") as file:
        head = file.read(64)
        file.seek(0)
        file.write(bytes(64))
    status, _, data = server.ask(broken + "?format=folded", method="DELETE")
    t.ok(status >= 400 and b"error" in data, f"{status} {data[:300]}")
    until(t, lambda: server.ask(broken)[0] == 200, "the recording is there again")
    with open(file_of(broken), "r+b") as file:
        file.write(head)
    t.ok(server.ask(broken + "?format=folded", method="DELETE")[2].startswith(b"burner;"), "its stacks")
    server.json(broken, expect=404)
    # A client that goes before it has all: more than all buffers on the way hold.
    os.truncate(file_of(left), 64 << 20)
    sock = server.connect()
    sock.sendall(f"DELETE {left} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {server.token}\r\n\r\n".encode())
    t.ok(sock.recv(12).startswith(b"HTTP/1.1 200"), "its answer begins")
    server.json(left, expect=404)
    sock.close()
    until(t, lambda: server.ask(left)[0] == 200, "the recording is there again")
    t.ok(os.path.exists(file_of(left)), "its file")
    server.json("/v1/profile?pid=1&format=none", expect=400)
    t.eq(server.json(plain + "?format=none", method="DELETE"), {}, "the answer to a DELETE without a trace")
    server.json(plain, expect=404)
    until(t, lambda: not os.path.exists(file_of(plain)), "the end of its file")


def test_killed_agent_leaves_nothing_but_its_traces(t):
    target = t.target("burner", 60000)
    server = Server(t)
    path = begin_session(server, pid=target.pid)
    until(t, lambda: server.json(path)["samples"] > 0, "samples")
    tasks = children(server.pid)
    server.process.signal(signal.SIGKILL)
    server.process.wait()
    until(t, lambda: not any(os.path.exists(f"/proc/{pid}") for pid in tasks), "the end of its children")
    t.ok(os.path.exists(f"/proc/{target.pid}"), "the target lives")
    again = Server(t)
    t.eq(again.json(path)["state"], "cut", "its state")
    until(t, lambda: again.json(path)["samples"] > 0, "the counts of a recording that was cut")
    with open(t.path("cut.tapir"), "wb") as file:
        file.write(again.ask(path + "/trace")[2])
    t.eq(again.json(path)["samples"], len(t.events(t.path("cut.tapir"), "sample")), "samples of a recording that was cut")


def test_audit_lines_of_wrong_tokens_are_bounded(t):
    """From many addresses, none of which is slowed down: at most 20 lines a minute, and the metrics count all."""
    server = Server(t)
    port = int(server.address.rsplit(":", 1)[1])
    for host in range(1, 61):
        sock = socket.create_connection(("127.0.0.1", port), source_address=(f"127.0.1.{host}", 0))
        sock.sendall(b"GET /v1/processes HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer " + b"x" * 64 + b"\r\n\r\n")
        t.ok(sock.recv(12).endswith(b"401"), "refused")
        sock.close()
    metrics = server.ask("/metrics")[2].decode()
    t.ok("tapir_wrong_tokens_total 60\n" in metrics, re.findall("tapir_wrong.*", metrics))
    lines = [line for line in server.audit("wrong-token") if "wrong-token" in line]
    t.ok(len(lines) <= 40, f"{len(lines)} lines")  # of two minutes, if one ends meanwhile


def test_sessions_belong_to_whoever_began_them(t):
    tokens = [{"name": name, "role": role, "token": name * 32} for name, role in
              (("a", "profile"), ("b", "profile"), ("c", "admin"))]
    path = write_tokens(t, tokens)
    server = Server(t, "--config", write_config(t, {"tokens_file": path}))
    target = t.target("burner", 60000)
    server.token = "a" * 32
    session = begin_session(server, pid=target.pid)
    server.token = "b" * 32
    t.eq(server.json("/v1/sessions")["sessions"], [], "sessions that another sees")
    for method, suffix in (("GET", ""), ("GET", "/trace"), ("POST", "/stop"), ("DELETE", "")):
        server.json(session + suffix, method=method, expect=404)
    server.token = "c" * 32
    t.eq(len(server.json("/v1/sessions")["sessions"]), 1, "sessions that an admin sees")
    t.eq(server.ask(session, method="DELETE")[0], 200, "an admin ends it")


def test_traces_of_others_are_not_pushed_out(t):
    """One who records often makes room by what is his own."""
    tokens = [{"name": name, "role": "profile", "token": name * 32} for name in "ab"]
    path = write_tokens(t, tokens)
    server = Server(t, "--config", write_config(t, {"tokens_file": path, "limits": {"sessions": 2, "traces": 3}}))
    target = t.target("burner", 60000)

    def record(name):
        server.token = name * 32
        begun = begin_session(server, pid=target.pid, seconds=0.1)
        until(t, lambda: server.json(begun)["state"] == "finished", "its end")
        return begun

    kept = record("b")
    own = [record("a") for _ in range(4)]
    t.eq([server.ask(one)[0] for one in own], [404, 404, 200, 200], "traces of the one who records")
    server.token = "b" * 32
    t.eq(server.ask(kept + "/trace")[0], 200, "the trace of the other one")
    deleted = [line for line in server.audit(f"deletes POST /v1/sessions {own[1].rsplit('/', 1)[1]}") if " deletes " in line]
    t.eq(len(deleted), 2, f"a line for each trace that made room: {deleted}")
    t.ok("tapir_traces_given_up_total 2\n" in server.ask("/metrics")[2].decode(), "and a figure")
    # Where those of others take it all, nothing is deleted.
    server.token = "a" * 32
    for one in own[2:]:
        t.eq(server.ask(one + "?format=none", method="DELETE")[0], 200, "its own are deleted")
    others = [kept, record("b"), record("b")]
    server.token = "a" * 32
    error = server.json("/v1/sessions", method="POST", body=json.dumps({"pid": target.pid, "seconds": 1}), expect=507)["error"]
    t.ok("no room for another trace" in error and "traces of others" in error, error)
    server.token = "b" * 32
    t.eq([server.ask(one)[0] for one in others], [200] * 3, "they are all there")


def test_framing_of_a_request_is_plain(t):
    """What a proxy could read otherwise is refused; so is a body that is too long, before it comes; HEAD is GET without a body."""
    server = Server(t)
    for extra, status in (("Host: localhost\r\n", 400), ("Content-Length: 0\r\nContent-Length: 0\r\n", 400),
                          ("Content-Length: 0\r\nTransfer-Encoding: chunked\r\n", 400),
                          (f"Authorization: Bearer {server.token}\r\nAuthorization: Bearer x\r\n", 400),
                          ("Content-Length: 65537\r\n", 413), ("", 200)):
        answer = server.raw(f"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{extra}\r\n".encode())
        t.eq(int(answer.split()[1]), status, f"{extra!r}: {answer[:200]}")
        t.eq(answer.count(b"HTTP/1.1 "), 1, "one answer")
    status, headers, body = server.ask("/v1/processes", method="HEAD")
    t.eq((status, headers["content-type"], body), (200, "application/json", b""), "HEAD of a list")
    t.eq(server.ask("/v1/processes", method="HEAD", token="")[0], 401, "HEAD without a token")
    status, headers, _ = server.ask(f"/v1/profile?pid={server.pid}", method="HEAD")
    t.eq((status, headers["allow"]), (405, "GET"), "HEAD of what attaches")


def test_role_decides_about_each_resource(t):
    """Not by the agent's own table: what each role may is written here."""
    roles = ("", "view", "profile", "admin")
    least = {"GET /healthz": "", "GET /readyz": "", "GET /v1/openapi.json": "", "GET /v1/config": "admin", "POST /v1/continuous/freeze": "profile",
             "GET /v1/profile": "profile", "GET /debug/pprof/profile": "profile", "GET /v1/stacks": "profile", "GET /v1/views/gc": "profile",
             "GET /v1/findings": "profile", "GET /v1/requests": "profile", "GET /v1/events": "profile", "GET /v1/questions": "profile", "GET /v1/query": "profile",
             "POST /v1/sessions": "profile", "POST /v1/sessions/x/stop": "profile",
             "DELETE /v1/sessions/x": "profile"}
    tokens = [{"name": role, "role": role, "token": role.ljust(32, "0")} for role in roles if role]
    path = write_tokens(t, tokens)
    server = Server(t, "--config", write_config(t, {"tokens_file": path}))
    paths = server.json("/v1/openapi.json", token="")["paths"]
    asked = [(method.upper(), name.replace("{view}", "gc").replace("{name}", "x").replace("{id}", "x").replace("{pid}", "0"))
             for name, operations in paths.items() for method in operations]
    t.eq(sorted(set(least) - {f"{method} {name}" for method, name in asked}), [], "resources that this test knows and the agent does not")
    for method, name in asked:
        needs = roles.index(least.get(f"{method} {name}", "view"))
        for have, role in enumerate(roles):
            # a parameter that no resource knows: nothing is done
            status = server.ask(name + "?no_such_parameter=1", method=method, token=role.ljust(32, "0") if role else "")[0]
            wanted = (401 if not role else 403) if have < needs else None
            t.ok(status == wanted if wanted else status not in (401, 403), f"{method} {name} of role '{role}': {status}")
    config = server.json("/v1/config", token="admin".ljust(32, "0"))
    t.eq((config["tokens_file"], config["limits"]["sessions"], config["listen"]), (path, 4, ["127.0.0.1:0"]), "the configuration")
    t.ok("admin000" not in json.dumps(config), "no token is in it")


def server_of_roles(t, config):
    """A server whose tokens are the names of their roles, with zeros."""
    tokens = [{"name": role, "role": role, "token": role.ljust(32, "0")} for role in ("view", "profile", "admin")]
    path = write_tokens(t, tokens)
    return Server(t, "--config", write_config(t, {"tokens_file": path, **config}))


def test_command_lines_are_for_administrators(t):
    """Whatever a role gets about a process, its arguments may have a password."""
    secret = "password-of-nobody"
    target = t.start(t.target_path("burner"), 60000, 1, secret)
    target.wait_line("pid ")
    server = server_of_roles(t, {"continuous": {"mb": 8, "comms": ["burner"]}})
    pid = target.pid
    shown = {"view": ["/v1/processes?all", f"/v1/processes/{pid}", "/", f"/processes/{pid}", "/metrics", "/health"],
             "profile": [f"/v1/stacks?pid={pid}", f"/v1/findings?pid={pid}&seconds=0.3", f"/v1/profile?pid={pid}&seconds=0.3&format=report",
                         f"/processes/{pid}/stacks"]}
    for role, paths in shown.items():
        for one in paths:
            status, _, data = server.ask(one, token=role.ljust(32, "0"))
            t.eq(status if not one.startswith("/processes") and one not in ("/", "/health") else 200, 200, f"status of {one}: {data[:200]}")
            t.ok(secret.encode() not in data, f"{one} has the arguments of a process")

    def words_of(data):
        with open(t.path("x.tapir"), "wb") as file:
            file.write(data)
        return [" ".join(record["cmdline"]) for record in t.events(t.path("x.tapir"), "process") if record["pid"] == pid]

    def of_session(token):
        server.token = token.ljust(32, "0")
        begun = begin_session(server, pid=pid, seconds=0.3)
        until(t, lambda: server.json(begun)["state"] == "finished", "the end of a session")
        return server.ask(begun + "/trace")[2]

    for role, wanted in (("profile", False), ("admin", True)):
        traces = [server.ask(f"/v1/profile?pid={pid}&seconds=0.3", token=role.ljust(32, "0"))[2], of_session(role)]
        for trace in traces:
            lines = words_of(trace)
            t.ok(lines and all((secret in line) == wanted for line in lines), f"command lines that {role} gets: {lines}")
    frozen = server.json("/v1/continuous/freeze", method="POST", token="profile".ljust(32, "0"), expect=202)
    t.ok(frozen is not None, "the continuous recording is frozen")
    server.token = "profile".ljust(32, "0")
    until(t, lambda: any(s["target"].startswith("continuous") for s in server.json("/v1/sessions")["sessions"]), "its file")
    one, = [s for s in server.json("/v1/sessions")["sessions"] if s["target"].startswith("continuous")]
    lines = words_of(server.ask(f"/v1/sessions/{one['id']}/trace")[2])
    t.ok(lines and not any(lines), f"command lines of a continuous recording: {lines}")


def test_events_come_while_they_happen(t):
    target = t.target("storm", "--wait", 200, 2000)
    server = Server(t)
    for query in (f"pid={target.pid}", "spec=x:y", f"pid={target.pid}&spec=/x:y:z"):
        server.json("/v1/events?" + query, expect=400)
    sock = server.connect()
    sock.sendall(f"GET /v1/events?pid={target.pid}&spec=storm HTTP/1.1\r\nHost: localhost\r\n"
                 f"Authorization: Bearer {server.token}\r\n\r\n".encode())
    stream = sock.makefile("rb")
    t.ok(b" 200 " in stream.readline(), "its status")
    line = b""
    while not line.startswith(b": recording"):
        line = stream.readline()
        t.ok(line, "the stream ended early")
    target.go()
    event = None
    while not event:
        line = stream.readline()
        t.ok(line, "the stream ended early")
        if line.startswith(b"data: "):
            event = json.loads(line[6:])
            event = event if event["type"] == "event" else None
    t.eq((event["pid"], event["provider"]), (target.pid, "storm"), "an event")
    sock.close()
    stream.close()
    front = children(server.pid)[0]
    until(t, lambda: children(server.pid) == [front], "the end of a stream whose client has gone")


def test_question_is_answered_of_a_process_and_logged(t):
    target = t.target("storm", 1000, 600000)
    server = Server(t)
    path = f"/v1/questions?pid={target.pid}&seconds=1&source="
    for query, status, start in (("", 400, "source:"), ("/etc/passwd:x", 400, "events:"), ("runqueue:x", 400, "SPEC 'runqueue"),
                                 ("storm:hit&where=1%2B", 400, "where:"), ("storm:hit&source=locks", 400, "source:")):
        error = server.json(path + query, expect=status)["error"]
        t.ok(error.startswith(start), f"{query}: {error}")
    answer = server.json(path + "storm:hit&by=pid&sum=arg1&where=arg0%20%3E%3D%200")
    t.eq((answer["type"], answer["of"], answer["undefined"], answer["rejected"]), ("total", "events", 0, 0), "the answer")
    t.eq(answer["hits"], answer["rows_hits"] + answer["lost"], "hits")
    t.eq([row["key"] for row in answer["rows"]], [{"pid": target.pid}], "keys")
    t.eq(list(answer["rows"][0]["values"][0]), ["of", "sum"], "values")
    answer = server.json(f"/v1/questions?pid={target.pid}&seconds=0.3&source=storm:hit&until=storm:hit&hist=took&by=tid")
    t.eq((answer["of"], answer["rejected"], answer["undefined"]), ("intervals", 0, 0), "from each event to the next one")
    t.eq([list(row["key"]) for row in answer["rows"]], [["tid"]], "its keys")
    error = server.json(path + "storm:hit&by=nothing", expect=400)["error"]
    t.ok("nothing" in error and "arg0" in error, error)
    error = server.json(path + "postgresql:query&hist=took", expect=404)["error"]
    t.ok("postgresql" in error, f"an interval that the program has not: {error}")
    logged = 'accepted GET /v1/questions pid=%d {"source":["storm:hit"],"sum":["arg1"],"by":["pid"],"where":"arg0 >= 0"}' % target.pid
    server.audit(logged)


CALLS = """
import os, signal, threading
calls = 0
def work():
    global calls
    while True:
        os.getppid()
        calls += 1
signal.signal(signal.SIGUSR1, lambda *_: print("calls", calls, flush=True))
threading.Thread(target=work, daemon=True).start()
print("pid", os.getpid(), flush=True)
while True:
    signal.pause()
"""


def test_question_of_the_machine_is_for_administrators(t):
    t.need("/usr/bin/python3")
    target = t.start("/usr/bin/python3", "-I", "-c", CALLS)
    target.wait_line("pid ")

    def calls():
        target.go()
        return int(target.wait_line("calls ").split()[1])

    server = server_of_roles(t, {})
    path = f"/v1/questions?pid={target.pid}&seconds=0.5&by=event&hist=took&source="
    for source in ("syscall:getppid", "tracepoint:sched:sched_switch", "uprobe:libc:getppid", "ufunc:libc:getppid", "kfunc:vfs_read", "perf:page-faults", "timer:49"):
        error = server.json(path + source, token="profile".ljust(32, "0"), expect=403)["error"]
        t.eq(error, f"source '{source}' is of the machine: role admin may record it", "role profile")
    server.json(path + "uprobe:nowhere", token="admin".ljust(32, "0"), expect=400)
    before = calls()
    answer = server.json(path + "syscall:getppid", token="admin".ljust(32, "0"))
    after = calls()
    row, = answer["rows"]
    t.eq((row["key"], answer["hits"]), ({"event": "syscall:getppid"}, row["count"] + answer["lost"]), "the answer")
    t.ok(0 < answer["hits"] <= after - before + 1, f"{answer['hits']} calls, of which the program made {after - before}")
    server.audit('accepted GET /v1/questions pid=%d {"source":["syscall:getppid"],"hist":["took"],"by":["event"]}' % target.pid)


def test_statement_in_sql_is_answered_of_a_process_and_logged(t):
    target = t.target("storm", 1000, 600000)
    server = Server(t)
    path = f"/v1/query?pid={target.pid}&seconds=0.5&events=storm:hit&sql="
    t.eq(server.json(path + "SELECT%20count(*)%20%3E%200%20AS%20has_meta%20FROM%20meta"), [{"has_meta": 1}], "the answer")
    for sql, why in (("", "sql: a statement is required"), ("DROP%20VIEW%20gc", "only reading is permitted")):
        error = server.json(path + sql, expect=400)["error"]
        t.ok(why in error, f"{sql}: {error}")
    logged = f"accepted GET /v1/query pid={target.pid} SELECT count(*) > 0 AS has_meta FROM meta"
    lines = [line for line in server.audit(logged) if logged in line]
    t.ok(all(line.rstrip("\n").endswith(logged) for line in lines), f"{lines}")


def test_question_about_intervals_records_their_events(t):
    t.need("/usr/bin/python3")
    if "gc__start" not in t.tapir("list", "/usr/bin/python3", expect=None).out:
        t.skip("this Python has no probes")
    target = t.start("/usr/bin/python3", "-I", "-c", "import gc, time\nwhile True: gc.collect(0); time.sleep(0.001)")
    answer = Server(t).json(f"/v1/questions?pid={target.pid}&seconds=1&source=interval:python:gc&hist=took&by=begin.generation&top=5")
    t.eq((answer["of"], answer["rejected"], answer["undefined"]), ("intervals", 0, 0), "the answer")
    t.eq(answer["hits"], answer["rows_hits"], "hits")
    t.eq([row["key"] for row in answer["rows"]], [{"begin.generation": 0}], "keys")
    t.ok(answer["rows"][0]["count"] >= 1, f"{answer}")


def test_counters_of_a_runtime_are_those_of_its_view(t):
    program = t.start(build_dotnet(t, "Counting"))
    program.wait_line("pid ")
    server = Server(t)
    answer = server.json(f"/v1/counters?pid={program.pid}&seconds=2.5&counters=System.Runtime")
    names = {row["name"] for row in answer["counters"]}
    t.ok(any("cpu" in name for name in names), f"{sorted(names)[:5]}")
    # A view records what it is about: what a compiler does and who throws is not in the default profile.
    for view in ("jit", "exceptions", "threadpool"):
        answer = server.json(f"/v1/views/{view}?pid={program.pid}&seconds=0.5")
        t.ok(answer.get("recorded", True), f"view {view}: {answer['headline']}")


def test_go_tool_pprof_reads_a_profile_from_its_url(t):
    go = t.need("go")
    target = t.target("burner", 60000)
    server = Server(t)
    url = server.address.replace("http://", f"http://x:{server.token}@") + f"/debug/pprof/profile?pid={target.pid}"
    out = t.run(go, "tool", "pprof", "-top", "-seconds", "1", url, env={**os.environ, "PPROF_TMPDIR": t.tmp, "HOME": t.tmp}).out
    t.ok(re.search(r"^Type: cpu$", out, re.M) and re.search(r" burn_much$", out, re.M), out)


def test_tls_is_spoken_where_it_is_configured(t):
    key, cert = t.path("key.pem"), t.path("cert.pem")
    t.run(t.need("openssl"), "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
          "-keyout", key, "-out", cert, "-subj", "/CN=test", "-addext", "subjectAltName=IP:127.0.0.1")
    os.chmod(key, 0o644)
    config = write_config(t, {"tls": {"certificate": cert, "key": key}})
    t.ok("mode 0600" in t.tapir("serve", "--config", config, "--listen", "127.0.0.1:0", "--state", t.path("state"), expect=3).err,
         "a key that others can read is refused")
    os.chmod(key, 0o600)
    server = Server(t, "--config", config)
    t.ok(server.address.startswith("https://"), server.address)
    server.json("/v1/processes", Origin=server.address, Host=server.address[len("https://"):])
    target = t.target("burner", 60000)
    t.ok(server.ask(f"/v1/profile?pid={target.pid}&seconds=0.1&format=folded")[2].startswith(b"burner;"), "a profile")
    plain = socket.create_connection(("127.0.0.1", int(server.address.rsplit(":", 1)[1])))
    plain.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
    t.ok(b"HTTP/1" not in plain.recv(100), "no answer without TLS")
    plain.close()
    server.json("/healthz")
