# SPDX-License-Identifier: GPL-2.0-or-later
"""sql_peer.py WORD=MS...: as much of SQL Server's protocol (MS-TDS) as a client of Microsoft.Data.SqlClient needs, on a port of the loopback.

It answers each statement with one row after the MS of the first WORD that is in it. Prints "port N", and for each line of input a line of JSON:
[text, from, until] of the statements since the one before, in ns of CLOCK_MONOTONIC, from its last byte received to its answer's first one sent.
"""
import json
import socket
import struct
import sys
import threading
import time

BATCH, RPC, ANSWER, ATTENTION, LOGIN, PRELOGIN = 1, 3, 4, 6, 16, 18
EXECUTE_SQL = 10  # sp_executesql, by its number
COLLATION = bytes.fromhex("0904d00034")
NVARCHAR = b"\xe7" + struct.pack("<H", 100) + COLLATION
NOT_ENCRYPTED = b"\x02"
ENDS_MESSAGE, RESETS_CONNECTION = 1, 8


def read(sock, cnt):
    data = b""
    while len(data) < cnt:
        more = sock.recv(cnt - len(data))
        if not more:
            raise EOFError
        data += more
    return data


def message(sock):
    """(type, status of the first packet, data) of all packets of a message."""
    data, first = b"", None
    while True:
        kind, status, size = struct.unpack(">BBHxxxx", read(sock, 8))
        first = status if first is None else first
        data += read(sock, size - 8)
        if status & ENDS_MESSAGE:
            return kind, first, data


def send(sock, data):
    sock.sendall(struct.pack(">BBHHBB", ANSWER, ENDS_MESSAGE, len(data) + 8, 0, 1, 0) + data)


def text(value):
    """With its length in characters, in a byte."""
    return bytes([len(value)]) + value.encode("utf-16-le")


def token(kind, data):
    return bytes([kind]) + struct.pack("<H", len(data)) + data


def prelogin():
    options = [(0, struct.pack(">BBHH", 16, 0, 1000, 0)), (1, NOT_ENCRYPTED)]
    at, head, data = 5 * len(options) + 1, b"", b""
    for option, value in options:
        head += struct.pack(">BHH", option, at + len(data), len(value))
        data += value
    return head + b"\xff" + data


def done(kind, rows):
    return bytes([kind]) + struct.pack("<HHQ", 0x10 if rows else 0, 0xc1, rows)


def login():
    return (token(0xe3, b"\x01" + text("shop") + text("master")) +
            token(0xe3, b"\x07" + bytes([len(COLLATION)]) + COLLATION + b"\x00") +
            token(0xad, b"\x01" + struct.pack(">I", 0x74000004) + text("sql_peer") + b"\x10\x00\x03\xe8") +
            token(0xe3, b"\x04" + text("4096") + text("4096")) + done(0xfd, 0))


def row(is_rpc):
    note = ("x" * 50).encode("utf-16-le")
    answer = b"\x81" + struct.pack("<HIH", 1, 0, 9) + NVARCHAR + text("note") + b"\xd1" + struct.pack("<H", len(note)) + note
    return answer + (done(0xff, 1) + b"\x79" + struct.pack("<i", 0) + done(0xfe, 0) if is_rpc else done(0xfd, 1))


def statement(kind, data):
    """Of a batch its text, of a procedure's call the first parameter of sp_executesql."""
    data = data[struct.unpack_from("<I", data)[0]:]
    if kind == BATCH:
        return data.decode("utf-16-le")
    name, number = struct.unpack_from("<HH", data)
    if name != 0xffff or number != EXECUTE_SQL:
        return "a procedure"
    at = 6 + 1 + 2 * data[6] + 1  # flags, the parameter's name, its status
    size, = struct.unpack_from("<H", data, at + 8)
    return data[at + 10:at + 10 + size].decode("utf-16-le")


class Peer:
    def __init__(self, times):
        self.times = times
        self.lock, self.seen = threading.Lock(), []

    def execute(self, what, is_rpc, sock, before):
        began = time.monotonic_ns()
        ms = next((ms for word, ms in self.times if word in what), 0)
        if ms:
            time.sleep(ms / 1000)
        answer = before + row(is_rpc)
        with self.lock:
            self.seen.append((what, began, time.monotonic_ns()))
        send(sock, answer)

    def serve(self, sock):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while True:
            kind, status, data = message(sock)
            before = token(0xe3, b"\x12\x00\x00") if status & RESETS_CONNECTION else b""
            if kind == PRELOGIN:
                send(sock, prelogin())
            elif kind == LOGIN:
                send(sock, login())
            elif kind == ATTENTION:
                send(sock, b"\xfd" + struct.pack("<HHQ", 0x20, 0, 0))
            elif kind in (BATCH, RPC):
                self.execute(statement(kind, data), kind == RPC, sock, before)
            else:
                return

    def client(self, sock):
        with sock:
            try:
                self.serve(sock)
            except (EOFError, OSError):
                pass

    def accept(self, listener):
        while True:
            threading.Thread(target=self.client, args=listener.accept()[:1], daemon=True).start()


def main():
    peer = Peer([(word, float(ms)) for word, _, ms in (arg.rpartition("=") for arg in sys.argv[1:])])
    listener = socket.create_server(("127.0.0.1", 0), backlog=128)
    threading.Thread(target=peer.accept, args=(listener,), daemon=True).start()
    print(f"port {listener.getsockname()[1]}", flush=True)
    for _ in sys.stdin:
        with peer.lock:
            print(json.dumps({"seen": peer.seen}), flush=True)
            peer.seen = []


main()
