# SPDX-License-Identifier: GPL-2.0-or-later
"""An HTTP server on loopback to which an agent pushes, with the manners that a case chooses."""
import http.server
import ssl
import threading
import time


class Receiver:
    """answer: a function(handler, request) instead of status 200; tls: certificate and key; got: a dict for each request, in order."""

    def __init__(self, answer=None, tls=None):
        self.got, self.stopping = [], threading.Event()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def take(self):
                request = {"method": self.command, "path": self.path, "headers": dict(self.headers), "at": time.monotonic(),
                           "body": self.rfile.read(int(self.headers.get("Content-Length", "0")))}
                outer.got.append(request)
                self.close_connection = True
                try:
                    answer(self, request) if answer else self.reply(200)
                except OSError:
                    pass  # the agent has gone

            do_GET = do_POST = do_PUT = take

            def reply(self, status, body=b"", **headers):
                self.send_response(status)
                for name, value in {"Content-Length": str(len(body)), **headers}.items():
                    self.send_header(name.replace("_", "-"), value)
                self.end_headers()
                self.wfile.write(body)

            def hang(self):
                outer.stopping.wait(120)

            def drip(self):
                self.send_response(503)
                self.send_header("Content-Length", "1000000")
                self.end_headers()
                while not outer.stopping.is_set():
                    self.wfile.write(b"x")
                    self.wfile.flush()
                    time.sleep(0.2)

            def flood(self, size):
                """An answer of so many bytes; returns how many were taken."""
                self.send_response(200)
                self.send_header("Content-Length", str(size))
                self.end_headers()
                block, sent = bytes(1 << 16), 0
                try:
                    while sent < size:
                        self.wfile.write(block)
                        sent += len(block)
                except OSError:
                    pass
                outer.flooded = sent

            def log_message(self, *_):
                pass

        self.flooded = None
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*tls)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.url = f"http{'s' if tls else ''}://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def stop(self):
        self.stopping.set()
        self.server.shutdown()
        self.server.server_close()
