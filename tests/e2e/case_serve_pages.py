# SPDX-License-Identifier: GPL-2.0-or-later
"""The agent's pages as a browser without scripts sees them: signing in, what a page shows, what its forms do, and whom
they obey."""
import base64
import concurrent.futures
import hashlib
import html.parser
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import ssl
import time
import urllib.parse

from serve_agent import Server, children, until, write_config
from dotnet_program import build_dotnet

CHECK_SERVE = {"test_page_has_what_the_role_permits", "test_wrong_tokens_are_slowed_down", "test_login_ends_with_its_token", "test_stacks_and_views_are_pages",
               "test_first_page_comes_quickly", "test_watched_counters_come_alone",
               "test_request_that_never_ends_loses_its_connection", "test_killed_http_process_ends_neither_sessions_nor_logins",
               "test_two_visitors_stop_one_session", "test_list_is_made_while_processes_come_and_go",
               "test_cookie_is_secure_with_tls",
               "test_client_certificate_is_required_where_one_is_configured"}


class Page(html.parser.HTMLParser):
    """An answer of the agent, its forms and links."""

    def __init__(self, status, headers, data):
        super().__init__()
        self.status, self.headers, self.data = status, headers, data
        self.forms, self.links, self.text, self.tags = [], [], [], []
        self.html = data.decode("utf-8", "replace")
        if headers.get("content-type", "").startswith("text/html"):
            self.feed(self.html)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.tags.append((tag, attrs))
        if tag == "form":
            self.forms.append((attrs.get("method"), attrs.get("action"), []))
        elif tag == "input" and self.forms and (attrs.get("type") != "checkbox" or "checked" in attrs):
            self.forms[-1][2].append((attrs.get("name"), attrs.get("value", "")))
        elif tag == "a":
            self.links.append(attrs.get("href"))

    def handle_data(self, data):
        self.text.append(data)

    def form(self, action):
        return next(fields for _, at, fields in self.forms if at == action)


class Visitor:
    """A browser of one agent: it keeps cookies, sends forms, follows where it is sent."""

    def __init__(self, server):
        self.server, self.cookie = server, None

    def ask(self, path, method="GET", fields=None, **headers):
        connection = http.client.HTTPConnection("127.0.0.1:1")
        connection.sock = self.server.connect()
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        body = None
        if self.cookie:
            sent["Cookie"] = self.cookie
        if fields is not None:
            body = urllib.parse.urlencode(fields)
            sent.setdefault("Content-Type", "application/x-www-form-urlencoded")
        connection.request(method, path, body=body, headers=sent)
        answer = connection.getresponse()
        got = {name.lower(): value for name, value in answer.getheaders()}
        page = Page(answer.status, got, answer.read())
        connection.close()
        if "set-cookie" in got:
            self.cookie = got["set-cookie"].split(";")[0]
        return page

    def post(self, path, fields, **headers):
        return self.ask(path, "POST", fields, **headers)

    def sign_in(self, token=None):
        page = self.post("/login", [("token", token or self.server.token), ("next", "/sessions")])
        self.server.t.eq((page.status, page.headers.get("location")), (303, "/sessions"), f"signing in: {page.html[:300]}")
        return page

    def csrf(self):
        return json.loads(self.ask("/v1/whoami").data)["csrf"]


def tokens_file(t, tokens):
    path = t.path("tokens.json")
    with open(path + ".new", "w", encoding="ascii") as file:
        json.dump({"tokens": tokens}, file)
    os.chmod(path + ".new", 0o600)
    os.rename(path + ".new", path)
    return path


def test_visitor_signs_in_and_out(t):
    server = Server(t)
    visitor = Visitor(server)
    for path in ("/", "/sessions", "/health", "/processes/1"):
        page = visitor.ask(path)
        t.eq((page.status, page.headers["location"]), (303, "/login?next=" + path), f"{path} of a stranger")
    page = visitor.ask("/login?next=//evil.example")
    t.eq(dict(page.form("/login"))["next"], "/", "a page of another site is not where a visitor comes back to")
    wrong = visitor.post("/login", [("token", "x" * 64)])
    t.eq((wrong.status, visitor.cookie), (403, None), "a wrong token")
    t.ok("wrong or expired token" in wrong.html, wrong.html)
    signed = visitor.sign_in()
    cookie = signed.headers["set-cookie"]
    for word in ("HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=43200"):
        t.ok(word in cookie.split("; "), cookie)
    t.ok("Secure" not in cookie and server.token not in cookie, "not Secure without TLS, and not the token")
    page = visitor.ask("/")
    t.eq(page.status, 200, "the first page")
    policy = page.headers["content-security-policy"]
    t.ok("default-src 'none'" in policy and "unsafe" not in policy and "script-src 'self'" in policy, policy)
    t.ok(not [tag for tag, attrs in page.tags if tag == "style" or "style" in attrs or (tag == "script" and "src" not in attrs)],
         "no script or style in the page")
    for tag, attrs in page.tags:
        for name in ("src", "href", "action"):
            t.ok(attrs.get(name, "/").startswith(("/", "#")), f"{tag} leads elsewhere: {attrs}")
    for path in re.findall(r'/assets/[^"]+', page.html):
        asset = visitor.ask(path)
        t.eq((asset.status, "immutable" in asset.headers["cache-control"]), (200, True), path)
    t.eq(visitor.ask("/assets/../token").status, 404, "no file is read")
    t.eq(visitor.ask("/health").status, 200, "health")
    t.ok("tapir_requests_total" in visitor.ask("/health").html, "its figures")
    # The cookie does not prove that a page of the agent sent the request.
    t.eq(visitor.post("/logout", []).status, 403, "a form without its token")
    t.eq(visitor.post("/logout", [("csrf", "0" * 32)]).status, 403, "a form with a wrong one")
    t.eq(visitor.post("/logout", [("csrf", visitor.csrf())], Origin="http://evil.example").status, 403, "another site's form")
    t.eq(visitor.ask("/v1/sessions", "POST").status, 403, "the interface with a cookie alone")
    old = visitor.cookie
    page = visitor.post("/logout", visitor.ask("/").form("/logout"))
    t.eq((page.status, "Max-Age=0" in page.headers["set-cookie"]), (303, True), "signing out")
    visitor.cookie = old
    t.eq(visitor.ask("/").status, 303, "a cookie after its end")
    lines = "\n".join(server.audit("admin accepted POST /v1/login", "wrong-token POST /v1/login", "admin accepted POST /v1/logout"))
    t.ok(server.token not in lines and old.split("=")[1] not in lines, "no secret is logged")


def test_session_is_started_stopped_and_deleted_by_forms(t):
    name = "<b>'\"&x"  # 15 bytes at most
    shutil.copy(t.target_path("burner"), t.path(name))
    target = t.start(t.path(name), 60000)
    target.wait_line("pid ")
    server = Server(t)
    visitor = Visitor(server)
    visitor.sign_in()
    listed = visitor.ask("/?all=1&name=%3Cb%3E*")
    t.ok("&lt;b&gt;" in listed.html and "<b>" not in listed.html, "a name of the list is escaped")
    link = next(link for link in listed.links if link.startswith(f"/processes/{target.pid}?started="))
    t.eq(visitor.ask(f"/processes/{target.pid}?started=1").status, 409, "another process of this number")
    page = visitor.ask(link)
    t.ok(name in "".join(page.text) and "<b>" not in page.html, "its page has the name, escaped")
    fields = page.form(f"/processes/{target.pid}/record")
    wrong = [(key, "0" if key == "seconds" else value) for key, value in fields]
    refused = visitor.post(f"/processes/{target.pid}/record", wrong)
    t.eq(refused.status, 400, "a form with a wrong value")
    t.ok("seconds:" in refused.html, "the page names the field")
    fields = [(key, "60" if key == "seconds" else value) for key, value in fields]
    t.eq(visitor.post(f"/processes/{target.pid}/record", [f for f in fields if f[0] != "csrf"]).status, 403, "without its token")
    begun = visitor.post(f"/processes/{target.pid}/record", fields)
    t.eq(begun.status, 303, f"a session begins: {begun.html[:500]}")
    path = begun.headers["location"]
    until(t, lambda: server.json("/v1" + path)["samples"] > 0, "samples")
    page = visitor.ask(path)
    t.ok('http-equiv="refresh"' in page.html, "without scripts it is loaded again")
    stopped = visitor.post(path + "/stop", page.form(path + "/stop"))
    t.eq((stopped.status, stopped.headers.get("location")), (303, path), "it is stopped")
    page = visitor.ask(path)
    t.ok('http-equiv="refresh"' not in page.html and 'id="findings"' in page.html, "findings of a recording that has ended")
    t.ok("burn_much" in page.html, "the burner's function")
    lines = [line for line in server.json(f"/v1{path}/findings")["first_screen"].splitlines() if not line.startswith(("   next: ", "more: "))]
    t.ok(lines and all(html.escape(line, quote=False) in page.html.replace("&quot;", '"').replace("&#39;", "'") for line in lines), f"the first screen of a report: {lines}")
    ids = {attrs["id"] for _, attrs in page.tags if "id" in attrs}
    t.eq([link for link in page.links if link and link.startswith("#") and link[1:] not in ids], [], "links that lead nowhere")
    t.ok(visitor.ask("/v1" + path + "/trace?format=folded").data.startswith(name.encode()),
         "a download with the cookie")
    t.ok('id="findings"' in visitor.ask(link).html, "the process's page has them, too")
    picture = visitor.ask(path + "/flamegraph.svg", Sec_Fetch_Site="same-origin")
    t.eq((picture.status, picture.headers["content-type"]), (200, "image/svg+xml"), "the flame graph")
    policy = picture.headers["content-security-policy"]
    t.ok("sandbox allow-scripts;" in policy and "'sha256-" in policy and "'self'" in policy.split("frame-ancestors")[1], policy)
    t.ok(f'src="{path}/flamegraph.svg?frame=1"' in visitor.ask(path + "/flamegraph").html, "its page")
    framed = visitor.ask(path + "/flamegraph.svg?frame=1", Sec_Fetch_Site="same-origin")
    t.eq((framed.status, framed.headers["content-type"], framed.headers["content-security-policy"]), (200, "text/html; charset=utf-8", policy),
         "the picture in a page of its own")
    t.ok(framed.html.startswith("<!DOCTYPE html>") and picture.html[picture.html.index("<svg"):] in framed.html, "which has the same picture")
    t.eq(visitor.ask(path + "/flamegraph.svg", Sec_Fetch_Site="cross-site").status, 403, "another site's frame")
    deleted = visitor.post(path + "/delete", visitor.ask("/sessions").form(path + "/delete"))
    t.eq((deleted.status, visitor.ask(path).status), (303, 404), "it is deleted")
    target.signal(signal.SIGKILL)
    target.wait()
    t.eq(visitor.post(f"/processes/{target.pid}/stacks", []).status, 405, "what is read is not posted to")
    t.eq(visitor.ask(link).status, 404, "a process that has ended")


def test_page_has_what_the_role_permits(t):
    tokens = [{"name": role, "role": role, "token": role.ljust(32, "0")} for role in ("view", "profile", "admin")]
    target = t.target("burner", 60000)
    server = Server(t, "--config", write_config(t, {"tokens_file": tokens_file(t, tokens), "anonymous": "view"}))
    visitors = {}
    for role in ("anonymous", "view", "profile"):
        visitors[role] = Visitor(server)
        if role != "anonymous":
            visitors[role].sign_in(role.ljust(32, "0"))
        page = visitors[role].ask(f"/processes/{target.pid}")
        actions = {action for method, action, _ in page.forms if method == "post"}
        t.eq(f"/processes/{target.pid}/record" in actions, role == "profile", f"{role} sees the form")
        t.eq(visitors[role].ask(f"/processes/{target.pid}/stacks").status == 200, role == "profile", f"{role} sees stacks")
    t.eq(visitors["view"].post(f"/processes/{target.pid}/record", [("csrf", visitors["view"].csrf())]).status, 403, "view may not")
    t.eq(visitors["anonymous"].post(f"/processes/{target.pid}/record", [("csrf", "")]).status, 303, "a stranger signs in first")
    begun = visitors["profile"].post(f"/processes/{target.pid}/record", [("csrf", visitors["profile"].csrf()), ("seconds", "60")])
    t.eq(begun.status, 303, "profile may")
    t.eq(visitors["view"].ask(begun.headers["location"]).status, 404, "it is not another's to see")
    # A link on another site can neither start anything nor read stacks.
    t.eq(visitors["profile"].ask(f"/processes/{target.pid}/stacks", Sec_Fetch_Site="cross-site").status, 403, "a link to stacks")
    t.eq(visitors["profile"].ask("/", Sec_Fetch_Site="cross-site").status, 200, "a link to a page that does nothing")
    server.json(begun.headers["location"].replace("/sessions", "/v1/sessions") + "/stop?format=report", method="POST",
                token="admin".ljust(32, "0"))


def test_pages_take_basic_and_a_unix_socket(t):
    server = Server(t)
    basic = "Basic " + base64.b64encode(f"x:{server.token}".encode()).decode()
    page = Visitor(server).ask("/sessions", Authorization=basic)
    t.eq(page.status, 200, "a page by HTTP Basic")
    t.eq(Visitor(server).ask("/v1/whoami").headers.get("www-authenticate"), 'Basic realm="tapir"', "who is asked for a password")
    t.eq(Visitor(server).ask("/v1/whoami", Sec_Fetch_Mode="cors").headers.get("www-authenticate"), None, "a script is not")
    form = Visitor(server).post("/processes/4194303/record", [("seconds", "1")], Authorization=basic)
    t.eq(form.status, 403, "a form needs its token all the same")
    server.process.signal(signal.SIGTERM)
    server.process.wait()
    server = Server(t, listen="unix:" + t.path("agent.sock"))
    page = Visitor(server).ask("/processes/%d" % server.pid)
    t.ok(page.status == 200 and dict(page.form(f"/processes/{server.pid}/record"))["csrf"], "the owner of a socket has forms")
    t.eq(Visitor(server).post(f"/processes/{server.pid}/record", [("seconds", "1")]).status, 403, "which need their token")


def test_forms_may_be_anything(t):
    server = Server(t)
    visitor = Visitor(server)
    visitor.sign_in()
    csrf = visitor.csrf()
    many = [("csrf", csrf)] + [("events", "x")] * 500
    t.eq(visitor.post("/processes/1/record", many).status, 400, "too many fields")
    t.eq(visitor.ask("/?" + "&".join(["name=x"] * 65)).status, 400, "too many parameters of a page")
    t.eq(visitor.ask("/v1/processes?" + "&".join(["name=x"] * 65)).status, 414, "and of a resource")
    t.eq(visitor.post("/processes/1/record", [("csrf", csrf)], Content_Type="application/json").status, 415, "no form")
    t.eq(visitor.post("/processes/1/record", [("csrf", csrf), ("path", "/etc")]).status, 400, "an unknown field")
    t.eq(visitor.ask("/?name=" + urllib.parse.quote('"><script>x')).html.count("<script>"), 0, "a field comes back escaped")
    for path in ("/processes/x", "/processes/0", "/sessions/x", "/sessions/x/flamegraph"):
        t.ok(visitor.ask(path).status in (400, 404), path)
    for path in ("/sessions/x/y", "/processes/1/2/3", "/assets/", "/assets/a/b", "//", "/login/"):
        t.eq(visitor.ask(path).status, 404, path)
    visitor.cookie = visitor.cookie[:-1]
    t.eq(visitor.ask("/").status, 303, "half a cookie")
    visitor.cookie = visitor.cookie.split("=")[0] + "=" + "x" * 3000
    t.eq(visitor.ask("/").status, 303, "a long one")
    t.eq(Visitor(server).ask("/login").status, 200, "it still answers")


def test_library_is_the_one_that_npm_has(t):
    assets = pathlib.Path(__file__).resolve().parents[2] / "user" / "agent" / "assets"
    sums = re.findall(r"^    ([0-9a-f]{64})  (\S+)$", (assets / "README.md").read_text(), re.M)
    t.eq(sorted(name for _, name in sums), ["uPlot.css", "uPlot.js"], "files with a sum")
    for expected, name in sums:
        t.eq(hashlib.sha256((assets / name).read_bytes()).hexdigest(), expected, name)
    t.ok("MIT" in (assets / "uPlot.LICENSE").read_text(), "its licence")


def test_wrong_tokens_are_slowed_down(t):
    server = Server(t)
    visitor = Visitor(server)
    answers = [visitor.post("/login", [("token", "x" * 64)]) for _ in range(12)]
    t.eq([page.status for page in answers], [403] * 10 + [429] * 2, "wrong tokens")
    t.ok(int(answers[-1].headers["retry-after"]) > 0, "when to try again")
    visitor.sign_in()
    lines = server.audit("accepted POST /v1/login")
    t.eq(len([line for line in lines if "wrong-token" in line]), 10, "lines of the log")


def test_login_ends_with_its_token(t):
    tokens = [{"name": "a", "role": "view", "token": "a" * 32}]
    path = tokens_file(t, tokens)
    server = Server(t, "--config", write_config(t, {"tokens_file": path}))
    visitor = Visitor(server)
    visitor.sign_in("a" * 32)
    tokens[0]["role"] = "admin"
    tokens_file(t, tokens)
    until(t, lambda: json.loads(visitor.ask("/v1/whoami").data)["role"] == "admin", "another role of the same token")
    tokens[0]["expires"] = "2001-01-01T00:00:00Z"
    tokens_file(t, tokens)
    until(t, lambda: visitor.ask("/").status == 303, "the end of a login whose token expired")
    del tokens[0]["expires"]
    tokens_file(t, tokens)
    until(t, lambda: server.ask("/v1/whoami", token="a" * 32)[0] == 200, "the token is valid again")
    t.eq(visitor.ask("/").status, 303, "the login is not")
    visitor.sign_in("a" * 32)
    server.process.signal(signal.SIGTERM)
    server.process.wait()
    old, server.address = visitor.cookie, Server(t, "--config", write_config(t, {"tokens_file": path})).address
    visitor.cookie = f"tapir-{server.address.rsplit(':', 1)[1]}=" + old.split("=")[1]
    t.eq(visitor.ask("/").status, 303, "a cookie of another agent")


def test_stacks_and_views_are_pages(t):
    target = t.target("burner", 60000)
    server = Server(t)
    visitor = Visitor(server)
    visitor.sign_in()
    page = visitor.ask(f"/processes/{target.pid}/stacks")
    t.eq(page.status, 200, "stacks")
    t.eq(visitor.ask(f"/processes/{target.pid}/stacks?started=1").status, 409, "stacks of another process of this number")
    t.ok("<details open>" in page.html and "burn" in page.html, "the burner's stack")
    body = json.dumps({"pid": target.pid, "seconds": 0.5})
    session = json.loads(server.ask("/v1/sessions", method="POST", body=body)[2])["id"]
    server.json(f"/v1/sessions/{session}/findings", expect=409)
    until(t, lambda: server.json(f"/v1/sessions/{session}")["state"] == "finished", "the end of a session")
    found = server.json(f"/v1/sessions/{session}/findings")
    t.ok(found["headline"] and isinstance(found["findings"], list), found)
    view = server.json(f"/v1/sessions/{session}/views/cpu?top=1")
    t.eq((view["view"], len(view["functions"])), ("cpu", 1), "a view of a session")
    requests = server.json(f"/v1/sessions/{session}/requests")
    t.eq(requests, server.json(f"/v1/sessions/{session}/views/requests"), "requests of a session are its view")
    for name in ("nothing", "slow", "cpu=x"):
        server.json(f"/v1/sessions/{session}/views/{name}", expect=400)
    server.json("/v1/sessions/0000000000000000/views/cpu", expect=404)
    other = json.loads(server.ask("/v1/sessions", method="POST", body=body)[2])["id"]
    ask = f"/v1/sessions/{other}/diff?top=3&first="
    server.json(ask + session, expect=409)
    until(t, lambda: server.json(f"/v1/sessions/{other}")["state"] == "finished", "the end of another session")
    files = [t.path(f"{at}.tapir") for at in (session, other)]
    for at, file in zip((session, other), files):
        with open(file, "wb") as out:
            out.write(server.ask(f"/v1/sessions/{at}/trace")[2])
    answer, printed = server.json(ask + session), json.loads(t.tapir("diff", "--json", "--top", 3, *files).out)
    for both in answer, printed:
        both["notes"] = [note for note in both["notes"] if "tapir" not in note and "recording" not in note]
    t.eq(answer, printed, "two sessions are compared as their files are")
    for first in "", "0000000000000000":
        t.ok("first: no such session" in server.json(ask + first, expect=404)["error"], f"first={first}")
    ask = f"/v1/sessions/{session}/query?sql="
    rows = server.json(ask + urllib.parse.quote("-- samples\nSELECT count(*) AS n FROM samples"))
    t.eq(rows, [{"n": server.json(f"/v1/sessions/{session}")["samples"]}], "samples by SQL")
    for sql, why in (("SELECT nowhere FROM samples", "no such column: nowhere"), ("ATTACH 'x' AS x", "only reading is permitted"),
                     ("--output=x", "there is no statement"), ("", "a statement is required")):
        error = server.json(ask + urllib.parse.quote(sql), expect=400)["error"]
        t.ok(why in error, f"{sql}: {error}")


def test_watched_counters_come_alone(t):
    """What the page of a process asks for: a program that throws all the time sends its counters and nothing else."""
    program = t.start("sh", "-c", 'sleep 100 | "$0" exceptions', build_dotnet(t, "Defects"))
    pid = program.wait_line("ready ").split()[1]
    server = Server(t)
    sock = server.connect()
    sock.sendall(f"GET /v1/events?pid={pid}&counters=System.Runtime HTTP/1.1\r\nHost: localhost\r\n"
                 f"Authorization: Bearer {server.token}\r\n\r\n".encode())
    stream, events = sock.makefile("rb"), []
    while len(events) < 40:
        line = stream.readline()
        t.ok(line, "the stream ended early")
        if line.startswith(b"data: "):
            events.append(json.loads(line[6:]))
    t.eq({event["type"] for event in events}, {"counter"}, "types of what comes")
    t.ok("exception-count" in {event["name"] for event in events}, "the counter of exceptions")
    stream.close()
    sock.close()


def make_certificates(t, name, signer=None):
    """NAME.pem with NAME.key, for 127.0.0.1; signed by another pair, or by itself."""
    key, cert = t.path(name + ".key"), t.path(name + ".pem")
    by = ("-CA", t.path(signer + ".pem"), "-CAkey", t.path(signer + ".key")) if signer else ()
    made = t.run(t.need("openssl"), "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                 "-keyout", key, "-out", cert, "-subj", "/CN=" + name, "-addext", "subjectAltName=IP:127.0.0.1", *by)
    t.eq(made.rc, 0, made.err)
    os.chmod(key, 0o600)
    return key, cert


def test_cookie_is_secure_with_tls(t):
    key, cert = make_certificates(t, "cert")
    server = Server(t, "--config", write_config(t, {"tls": {"certificate": cert, "key": key}}))
    visitor = Visitor(server)
    cookie = visitor.sign_in().headers["set-cookie"]
    t.ok(cookie.startswith("__Host-tapir-") and "Secure" in cookie.split("; "), cookie)
    t.eq(visitor.ask("/").status, 200, "a page")


def test_client_certificate_is_required_where_one_is_configured(t):
    key, cert = make_certificates(t, "cert")
    make_certificates(t, "authority")
    make_certificates(t, "client", "authority")
    make_certificates(t, "stranger")
    make_certificates(t, "other", "stranger")
    tls = {"certificate": cert, "key": key, "client_ca": t.path("authority.pem")}
    server = Server(t, "--config", write_config(t, {"tls": tls}))
    host, port = server.address[len("https://"):].rsplit(":", 1)

    def ask(name):
        context = ssl.create_default_context(cafile=cert)
        if name:
            context.load_cert_chain(t.path(name + ".pem"), t.path(name + ".key"))
        connection = http.client.HTTPSConnection(host, int(port), context=context, timeout=30)
        connection.request("GET", "/v1/whoami", headers={"Authorization": "Bearer " + server.token})
        status = connection.getresponse().status
        connection.close()
        return status

    t.eq([ask(name) for name in ("client", None, "other", "stranger")], [200, 403, 403, 403],
         "a client of the authority, without, of another, of its own")
    for wrong in ({"client_ca": t.path("authority.pem")}, {**tls, "client_ca": t.path("none.pem")}):
        result = t.tapir("serve", "--config", write_config(t, {"tls": wrong}), "--listen", "127.0.0.1:0", "--state", "memory", expect=None)
        t.ok(result.rc and result.err.count("\n") == 1, f"{wrong}: {result.err}")


def test_request_that_never_ends_loses_its_connection(t):
    server = Server(t)
    sock = server.connect()
    sock.settimeout(0.5)
    begin, answer = time.monotonic(), None
    sock.sendall(b"POST /login HTTP/1.1\r\nHost: localhost\r\nX: ")
    while answer is None:
        t.ok(time.monotonic() - begin < 60, "a byte every half second keeps a connection for a minute")
        try:
            sock.sendall(b"x")
            answer = sock.recv(100)
        except TimeoutError:
            pass
        except (BrokenPipeError, ConnectionResetError):
            break
    sock.close()
    t.eq(Visitor(server).ask("/login").status, 200, "it still answers")


def test_killed_http_process_ends_neither_sessions_nor_logins(t):
    target = t.target("burner", 60000)
    server = Server(t)
    visitor = Visitor(server)
    visitor.sign_in()
    front = children(server.pid)[0]
    begun = visitor.post(f"/processes/{target.pid}/record", [("csrf", visitor.csrf()), ("seconds", "60")])
    path = begun.headers["location"]
    os.kill(front, signal.SIGKILL)
    until(t, lambda: not os.path.exists(f"/proc/{front}"), "the end of the HTTP process")

    def page():
        try:
            return visitor.ask(path)
        except OSError:
            return None  # the agent does not accept connections yet

    until(t, lambda: page() is not None, "another one")
    t.eq(page().status, 200, "the login outlives it")
    until(t, lambda: server.json("/v1" + path)["samples"] > 0, "samples of the session")
    t.eq(server.json("/v1" + path)["state"], "recording", "the session goes on")
    t.eq(visitor.post(path + "/stop", [("csrf", visitor.csrf())]).status, 303, "it can be stopped")


def test_two_visitors_stop_one_session(t):
    target = t.target("burner", 60000)
    server = Server(t)
    visitors = [Visitor(server) for _ in range(4)]
    for visitor in visitors:
        visitor.sign_in()
    csrf = visitors[0].csrf()
    for _ in range(3):
        begun = visitors[0].post(f"/processes/{target.pid}/record", [("csrf", csrf), ("seconds", "60")])
        path = begun.headers["location"]
        until(t, lambda path=path: server.json("/v1" + path)["samples"] > 0, "samples")
        with concurrent.futures.ThreadPoolExecutor(len(visitors)) as pool:
            answers = list(pool.map(lambda visitor, path=path: visitor.post(path + "/stop", [("csrf", csrf)]).status, visitors))
        t.eq(set(answers), {303}, "each is led to the session")
        until(t, lambda path=path: server.json("/v1" + path)["state"] == "finished", "its end")
        with concurrent.futures.ThreadPoolExecutor(len(visitors)) as pool:
            answers = list(pool.map(lambda visitor, path=path: visitor.post(path + "/delete", [("csrf", csrf)]).status, visitors))
        t.eq(sorted(set(answers) | {303, 404}), [303, 404], f"one deletes it, others find none: {answers}")
        t.eq(visitors[0].ask(path).status, 404, "it is gone")


def test_list_is_made_while_processes_come_and_go(t):
    server = Server(t)
    visitor = Visitor(server)
    visitor.sign_in()
    storm = t.start("sh", "-c", 'while :; do /bin/true; done')
    for _ in range(10):
        t.eq(visitor.ask("/?all=1").status, 200, "the list")
    pages = [visitor.ask(f"/processes/{pid}") for pid in range(storm.pid + 1, storm.pid + 40)]
    for page in pages:  # a number may be that of a thread of another program
        t.ok(page.status in (200, 404) or "is a thread of process" in page.html, f"{page.status}: {page.html[-300:]}")
    storm.kill()


def test_first_page_comes_quickly(t):
    """The page takes at most 100 ms more than the command that makes its list."""
    server = Server(t)
    visitor = Visitor(server)
    visitor.sign_in()
    took = {"page": [], "tapir ps": []}
    for _ in range(9):
        begin = time.monotonic()
        t.eq(visitor.ask("/").status, 200, "the first page")
        middle = time.monotonic()
        t.tapir("ps", "--json")
        took["page"].append(middle - begin)
        took["tapir ps"].append(time.monotonic() - middle)
    median = {name: sorted(values)[len(values) // 2] for name, values in took.items()}
    t.ok(median["page"] <= median["tapir ps"] + 0.1, f"seconds: {median}")
