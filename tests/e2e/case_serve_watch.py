# SPDX-License-Identifier: GPL-2.0-or-later
"""Runtimes that the configuration of an agent selects: their counters with history, and their metrics."""
import json
import os
import re
import signal
import socket
import time
import urllib.parse
import urllib.request

from serve_agent import Server, children, until, write_config
from case_serve_pages import Visitor, tokens_file
from dotnet_program import build_dotnet
from harness import comms, maps_of_us

CHECK_SERVE = {"test_prometheus_scrapes_watched_runtimes", "test_metrics_of_a_jvm_are_its_own", "test_watching_begins_again_when_it_was_killed",
               "test_page_of_a_watched_process_has_its_counters"}

SPIN = """import java.util.*;
public class Spin {
    static volatile Object kept;
    public static void main(String[] a) throws Exception {
        System.out.println("pid " + ProcessHandle.current().pid());
        for (;;) { kept = new byte[100000]; Thread.sleep(0, 200000); }
    } }"""


def named(t, program, suffix):
    """The program under a name that no other process has."""
    link = t.path(f"w{os.getpid() % 100000}{suffix}")
    if not os.path.exists(link):
        os.symlink(program, link)
    return link


def start_counting(t):
    program = t.start(named(t, build_dotnet(t, "Counting"), "c"), "stay")
    program.wait_line("pid ")
    return program


def start_jvm(t):
    java, javac = t.need("java", "javac")
    source = t.path("Spin.java")
    with open(source, "w", encoding="ascii") as file:
        file.write(SPIN)
    t.eq(t.run(javac, source).rc, 0, "javac")
    jvm = t.start(named(t, java, "j"), "-Xmx64m", "-cp", t.tmp, "Spin")
    jvm.wait_line("pid ")
    return jvm


def start_server(t, *suffixes, **config):
    comms = [f"w{os.getpid() % 100000}{suffix}" for suffix in suffixes]
    return Server(t, "--config", write_config(t, {"watch": {"comms": comms, "interval_ms": 500}, **config}))


def metrics(server):
    status, headers, data = server.ask("/metrics")
    server.t.eq(status, 200, "the status of /metrics")
    server.t.ok(headers["content-type"].startswith("text/plain"), headers["content-type"])
    return data.decode()


def value(text, name, pid, more=""):
    """Of a metric of a process; None: it has none."""
    found = re.search(rf'^tapir_runtime_{name}\{{pid="{pid}",process="[^"]*"{more}\}} (\S+)$', text, re.M)
    return float(found.group(1)) if found else None


def test_watched_runtime_is_answered_from_memory(t):
    """Counters and pauses are those that the program reports itself; nothing is loaded into it, and nothing is attached by asking."""
    program = start_counting(t)
    other = t.target("burner", 60000)
    server = start_server(t, "c", tokens_file=tokens_file(t, [{"name": "looks", "role": "view", "token": "v" * 40}]))
    server.token = "v" * 40
    until(t, lambda: value(metrics(server), "heap_bytes", program.pid), "the first values")
    os.kill(program.pid, signal.SIGUSR1)
    program.wait_line("done", timeout=30)
    collections = r',generation="\d"'

    def sum_of(text):
        return sum(map(float, re.findall(rf'^tapir_runtime_gc_collections_total\{{pid="{program.pid}",process="\w+"{collections}\}} (\S+)$', text, re.M)))

    least = 25 * 200 * 8000  # what it allocates, at least
    until(t, lambda: sum_of(metrics(server)) >= 5 and value(metrics(server), "allocated_bytes_total", program.pid) > least, "its last interval")
    text = metrics(server)
    os.kill(program.pid, signal.SIGUSR1)
    own = json.loads(program.wait_line("{"))
    t.eq(value(text, "gc_pause_seconds_count", program.pid), sum_of(text), "pauses and collections")
    t.eq(own["gen0"], sum_of(text), "collections, as the program counted them")
    t.ok(0 < value(text, "gc_pause_seconds_sum", program.pid) < 5, "seconds of pauses")
    with open(f"/proc/{program.pid}/statm", encoding="ascii") as file:
        resident = int(file.read().split()[1]) * 4096
    t.ok(0.5 < value(text, "resident_memory_bytes", program.pid) / resident < 2, f"resident memory, of {resident} bytes")
    t.ok(0.01 < value(text, "cpu_seconds_total", program.pid) < 60, "its CPU time")
    t.ok(value(text, "allocated_bytes_total", program.pid) <= own["allocated"], "bytes allocated")
    t.eq(maps_of_us(program.pid), [], "no library of tapir's in a process that is watched")
    tasks = children(server.pid)
    answer = server.json(f"/v1/counters/gc-heap-size?pid={program.pid}")
    t.eq([row["name"] for row in answer["counters"]], ["gc-heap-size"], "the one counter")
    points = answer["counters"][0]["points"]
    t.ok(len(points) >= 5, f"{len(points)} values are kept")
    times = [point["utc_ms"] for point in points]
    t.eq(times, sorted(set(times)), "their times")
    t.ok(abs(times[-1] - time.time() * 1000) < 10000, "the newest is of now")
    until(t, lambda: sorted(children(server.pid)) == sorted(tasks), "the task that sends a history has ended")
    now = server.json(f"/v1/counters?pid={program.pid}")
    t.ok(len(now["counters"]) > 20 and "points" not in now["counters"][0], "all counters without history")
    t.eq(sorted(children(server.pid)), sorted(tasks), "no task for what is answered from memory")
    t.eq(server.ask(f"/v1/counters?pid={other.pid}")[0], 403, "a process that is not watched, for role view")
    t.eq(server.ask(f"/v1/counters?pid={program.pid}&seconds=1")[0], 403, "a recording of one that is")
    t.eq(server.ask(f"/v1/counters?pid={program.pid}&started=1")[0], 409, "a process that had its number before")
    t.eq(server.ask(f"/v1/counters/*?pid={other.pid}&watched=true")[0], 404, "only what is watched")
    program.kill()
    until(t, lambda: value(metrics(server), "heap_bytes", program.pid) is None, "the end of its values")


def test_page_of_a_watched_process_has_its_counters(t):
    program = start_counting(t)
    server = start_server(t, "c")
    until(t, lambda: value(metrics(server), "heap_bytes", program.pid), "the first values")
    os.kill(program.pid, signal.SIGUSR1)
    program.wait_line("done", timeout=30)
    visitor = Visitor(server)
    visitor.sign_in()
    page = visitor.ask(f"/processes/{program.pid}")
    t.eq(page.status, 200, "the page")
    for text in ('id="watched"', "gc-heap-size", "polyline", "Pauses for garbage collection", 'class="bar"'):
        t.ok(text in page.html, f"{text} is not in the page")


def test_metrics_of_a_jvm_are_its_own(t):
    jvm = start_jvm(t)
    server = start_server(t, "j")
    until(t, lambda: (value(metrics(server), "gc_collections_total", jvm.pid) or 0) >= 3, "collections")
    text = metrics(server)
    t.ok(1e6 < value(text, "heap_bytes", jvm.pid) <= 64 << 20, "its heap")
    for name in ("gc_time_seconds_total", "jit_time_seconds_total", "lock_contentions_total"):
        t.ok(value(text, name, jvm.pid) >= 0, name)
    names = list(comms(jvm.pid).values())
    t.ok("Attach Listener" not in names, f"nobody attaches to it: {names}")
    seen = t.run(t.need("jcmd"), str(jvm.pid), "PerfCounter.print").out
    own = sum(map(int, re.findall(r"sun\.gc\.collector\.\d+\.invocations=(\d+)", seen)))
    t.ok(value(text, "gc_collections_total", jvm.pid) <= own, f"{own} collections by jcmd")
    t.eq(maps_of_us(jvm.pid), [], "no library in it")
    t.ok("Full thread dump" not in "".join(jvm.out), "nobody asks it for stacks")


def test_watching_begins_again_when_it_was_killed(t):
    """It is a child of the agent: killed, it leaves nothing in its processes, and another one begins."""
    program = start_counting(t)
    server = start_server(t, "c")
    front = children(server.pid)[0]
    until(t, lambda: value(metrics(server), "heap_bytes", program.pid), "the first values")
    watcher = [pid for pid in children(server.pid) if pid != front][0]
    os.kill(watcher, signal.SIGKILL)
    until(t, lambda: value(metrics(server), "heap_bytes", program.pid) is None, "the end of what is not kept up to date")
    until(t, lambda: value(metrics(server), "heap_bytes", program.pid), "values of the next one")
    t.ok(watcher not in children(server.pid), "another process")
    t.ok(any("another one starts" in line for line in server.process.err), f"{server.process.err}")


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def test_prometheus_scrapes_watched_runtimes(t):
    promtool, prometheus = t.need("promtool", "prometheus")
    program = start_counting(t)
    server = start_server(t, "c")
    until(t, lambda: value(metrics(server), "heap_bytes", program.pid), "the first values")
    path = t.path("metrics.txt")
    with open(path, "w", encoding="utf-8") as file:
        file.write(metrics(server))
    with open(path, "rb") as file:
        t.eq(t.run("sh", "-c", f"{promtool} check metrics < {path}").rc, 0, "promtool")
    port, token = free_port(), t.path("token")
    with open(token, "w", encoding="ascii") as file:
        file.write(server.token)
    config = t.path("prometheus.yml")
    with open(config, "w", encoding="ascii") as file:
        file.write(f"""scrape_configs:
- job_name: tapir
  scrape_interval: 1s
  authorization: {{credentials_file: {token}}}
  static_configs: [{{targets: ['{server.address[len("http://"):]}']}}]
""")
    t.start(prometheus, f"--config.file={config}", f"--storage.tsdb.path={t.path('tsdb')}", f"--web.listen-address=127.0.0.1:{port}")

    def query(text):
        try:
            url = f"http://127.0.0.1:{port}/api/v1/query?query={urllib.parse.quote(text)}"
            with urllib.request.urlopen(url, timeout=5) as answer:
                return json.load(answer)["data"]["result"]
        except OSError:
            return []

    until(t, lambda: query(f'tapir_runtime_heap_bytes{{pid="{program.pid}"}}'), "a scrape", seconds=60)
    found = query(f'tapir_runtime_heap_bytes{{pid="{program.pid}"}}')[0]
    t.ok(float(found["value"][1]) > 1e5, f"{found}")
    t.eq(query("up{job='tapir'}")[0]["value"][1], "1", "the agent is up")
    os.kill(program.pid, signal.SIGUSR1)
    program.wait_line("done", timeout=30)
    until(t, lambda: float(query(f'sum(tapir_runtime_gc_pause_seconds_count{{pid="{program.pid}"}})')[0]["value"][1]) >= 5, "pauses in Prometheus")
