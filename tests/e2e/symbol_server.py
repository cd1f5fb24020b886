# SPDX-License-Identifier: GPL-2.0-or-later
"""An HTTP server of symbols on loopback for case_symbol_servers.py, with the manners that a case chooses."""
import http.server
import threading
import time


class SymbolServer:
    """answers: path -> bytes, or a function(handler) that answers by itself; asked: the paths requested;
    passwords: what each request had as Authorization, or None."""

    def __init__(self, answers=None, otherwise=None):
        self.answers, self.otherwise, self.asked, self.passwords = answers or {}, otherwise, [], []
        self.stopping = threading.Event()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                outer.asked.append(self.path)
                outer.passwords.append(self.headers.get("Authorization"))
                answer = outer.answers.get(self.path, outer.otherwise)
                self.close_connection = True
                try:
                    if answer is None:
                        self.reply(404, b"no such file")
                    elif callable(answer):
                        answer(self)
                    else:
                        self.reply(200, answer)
                except OSError:
                    pass  # the client has gone

            def reply(self, status, body=b"", **headers):
                self.send_response(status)
                for name, value in {"Content-Length": str(len(body)), **headers}.items():
                    self.send_header(name.replace("_", "-"), value)
                self.end_headers()
                self.wfile.write(body)

            def wait_for_the_end(self):
                outer.stopping.wait(120)

            def drip(self):
                """A byte a second, for as long as somebody listens."""
                self.send_response(200)
                self.send_header("Content-Length", "1000000")
                self.end_headers()
                while not outer.stopping.is_set():
                    self.wfile.write(b"x")
                    self.wfile.flush()
                    time.sleep(1)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stopping.set()
        self.server.shutdown()
        self.server.server_close()
