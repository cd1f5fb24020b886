# SPDX-License-Identifier: GPL-2.0-or-later
"""An agent that this process has started for itself (`tapir serve --stdio`), spoken to by frames (user/agent/http/stdio_frame.h)."""
import json
import os
import struct
import subprocess
import sys
import threading

REQUEST, CREDIT, CANCEL, HEAD, DATA, END, BROKEN = range(1, 8)
METHOD, PATH, BODY, QUERY, HEADER, VALUE = range(1, 7)


def field(kind, value):
    data = value if isinstance(value, bytes) else value.encode()
    return struct.pack("=II", kind, len(data) + 1) + data + b"\0"


def fields(data):
    at = 0
    while at < len(data):
        kind, size = struct.unpack_from("=II", data, at)
        yield kind, data[at + 8:at + 7 + size].decode()
        at += 8 + size


class Answer:
    def __init__(self):
        self.status, self.headers, self.body, self.is_whole = 0, {}, b"", False
        self.ended = threading.Event()


class StdioAgent:
    def __init__(self, command, credit=True, **options):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, **options)
        self.pid = os.getpid()
        self.answers, self.next_id, self.gives_credit = {}, 1, credit
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def send(self, kind, number, data=b""):
        self.process.stdin.write(struct.pack("=III", kind, number, len(data)) + data)

    def exactly(self, size):
        data = b""
        while len(data) < size:
            part = self.process.stdout.read(size - len(data))
            if not part:
                return None
            data += part
        return data

    def read(self):
        while (head := self.exactly(12)):
            kind, number, size = struct.unpack("=III", head)
            data = self.exactly(size) if size else b""
            answer = self.answers[number]
            if kind == HEAD:
                answer.status = struct.unpack_from("=I", data)[0]
                texts = [text for _, text in fields(data[4:])]
                answer.headers = {name.lower(): value for name, value in zip(texts[::2], texts[1::2])}
            elif kind == DATA:
                answer.body += data
                if self.gives_credit:
                    self.send(CREDIT, number, struct.pack("=I", size))
            else:
                answer.is_whole = kind == END
                answer.ended.set()
        for answer in self.answers.values():
            answer.ended.set()

    def start(self, path, method="GET", query=(), body=None, **headers):
        number, self.next_id = self.next_id, self.next_id + 1
        data = field(METHOD, method) + field(PATH, path)
        for name, value in query:
            data += field(QUERY, name) + field(VALUE, value)
        for name, value in headers.items():
            data += field(HEADER, name.replace("_", "-")) + field(VALUE, value)
        if body is not None:
            data += field(BODY, body)
        answer = self.answers[number] = Answer()
        answer.number = number
        self.send(REQUEST, number, data)
        return answer

    def ask(self, path, timeout=60, **options):
        answer = self.start(path, **options)
        if not answer.ended.wait(timeout):
            raise TimeoutError(path)
        return answer

    def json(self, path, **options):
        return json.loads(self.ask(path, **options).body)

    def close(self):
        self.process.stdin.close()
        return self.process.wait(30)


def children(pid):
    found = []
    for thread in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{thread}/children", encoding="ascii") as file:
                found += [int(word) for word in file.read().split()]
        except OSError:
            pass  # it has ended
    return found


def whole_tree(pid):
    return [pid] + [one for child in children(pid) for one in whole_tree(child)]


def state_of(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rsplit(")", 1)[1].split()[0]
    except OSError:
        return ""


def walk(tapir):
    """What a program sees of its agent, as a document."""
    seen = {}
    agent = StdioAgent([tapir, "serve", "--stdio"], stderr=subprocess.PIPE)
    own, mounted = f"/processes/{agent.pid}", {"Tapir_Root": "/debug/tapir"}
    seen["root"] = (agent.ask("/", **mounted).status, agent.answers[1].headers["location"] == "/debug/tapir" + own)
    page = agent.ask(own, **mounted).body.decode()
    seen["links"] = sorted({link.split("/")[1] for attribute in ("href", "src", "action") for link in page.split(f' {attribute}="')[1:]
                            if link.startswith("/")})
    seen["script root"] = '<body data-root="/debug/tapir" ' in page
    seen["strange root"] = 'href="/assets/' in agent.ask(own, Tapir_Root="//elsewhere.example").body.decode()
    csrf = agent.json("/v1/whoami")["csrf"]
    others = [(path, query) for path in ("/v1/profile", "/v1/stacks", "/v1/events", "/v1/counters", "/v1/findings", "/v1/questions", "/debug/pprof/profile")
              for query in ([("pid", "1")], [("comm", "*")]) if (path, query[0][0]) != ("/v1/stacks", "comm")]
    seen["others"] = sorted({agent.ask(path, query=query).status for path, query in others} | {agent.ask("/v1/processes/1").status})
    seen["others listed"] = [p["pid"] for p in agent.json("/v1/processes", query=[("all", "true")])["processes"]] == [agent.pid]
    seen["no token"] = agent.ask("/v1/sessions", method="POST", body="{}").status
    seen["another site"] = agent.ask("/v1/profile", Host="shop.example", Origin="http://evil.example").status
    begun = agent.ask("/v1/sessions", method="POST", body='{"seconds": 60}', X_Csrf_Token=csrf, **mounted)
    seen["begun"] = (begun.status, begun.headers["location"].startswith("/debug/tapir/v1/sessions/"))
    # A client that takes nothing holds up nobody, and its end is the end of what it asked for.
    agent.gives_credit = False
    slow = agent.start("/v1/events", query=[("spec", "nobody:nothing"), ("seconds", "60")])
    seen["beside it"] = agent.ask("/healthz").status
    agent.send(CANCEL, slow.number)
    seen["cancelled"] = slow.ended.wait(30) and not slow.is_whole
    seen["after it"] = agent.ask("/healthz").status
    tree = whole_tree(agent.process.pid)
    seen["processes"] = len(tree) >= 4  # keeper, agent, HTTP, the recording
    agent.process.stdin.close()
    seen["exit"] = agent.process.wait(30)
    seen["left"] = [pid for pid in tree if state_of(pid)]
    # What is no frame ends it.
    agent = StdioAgent([tapir, "serve", "--stdio"], stderr=subprocess.PIPE)
    agent.send(77, 1)
    seen["no frame"] = agent.process.wait(30)
    return seen


if __name__ == "__main__":
    print(json.dumps(walk(sys.argv[1])))
