"""PostgreSQL's protocol, byte by byte: a client that may say what no library would say."""

import json
import os
import socket
import struct

from common import ERROR_FIELDS, SETTINGS, own_line, pq

CODES = {code: name for name, code in pq.FIELDS.items()}


def message(kind, body=b""):
    return kind.encode() + struct.pack("!i", len(body) + 4) + body


def text(value):
    return value.encode() + b"\0"


def query(sql):
    return message("Q", text(sql))


def data(body):
    return message("d", body)


DONE = message("c")
SYNC = message("S")
FLUSH = message("H")


def fail(why):
    return message("f", text(why))


def parse(sql, name=""):
    return message("P", text(name) + text(sql) + struct.pack("!h", 0))


def bind(name="", portal=""):
    return message("B", text(portal) + text(name) + struct.pack("!hhh", 0, 0, 0))


def describe(portal=""):
    return message("D", b"P" + text(portal))


def execute(portal="", rows=0):
    return message("E", text(portal) + struct.pack("!i", rows))


def extended(sql):
    return parse(sql) + bind() + describe() + execute()


class Wire:
    """A connection through the server's socket. `got` has what the server has said, as far as it is to be compared."""

    def __init__(self, place, on=None, timeout=60):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(timeout)
        self.socket.connect(os.path.join(place.host, ".s.PGSQL.%s" % place.port))
        body = (
            struct.pack("!i", 3 << 16) + text("user") + text(place.user) + text("database") + text("postgres") + b"\0"
        )
        self.socket.sendall(struct.pack("!i", len(body) + 4) + body)
        self.buffer, self.got, self.context, self.loads, self.key = b"", [], [], [], None
        self.until_ready()
        if on is not None:
            settings = [
                *SETTINGS,
                *place.settings,
                "search_path = hooked, public",
                "fastcsv.accelerate_copy = %s" % ("on" if on else "off"),
            ]
            self.send(
                query(
                    "; ".join((["LOAD 'fastcsv'"] if place.load else []) + ["SET " + setting for setting in settings])
                )
            )
            self.until_ready()
        self.got, self.loads = [], []

    def send(self, *messages):
        """Sends what it can: a server that has gone away is heard of when one listens."""
        try:
            for one in messages:
                self.socket.sendall(one)
        except (BrokenPipeError, ConnectionResetError):
            pass

    def receive(self):
        """The next message: its kind and its body; None at the end."""
        while len(self.buffer) < 5 or len(self.buffer) < 1 + struct.unpack("!i", self.buffer[1:5])[0]:
            try:
                more = self.socket.recv(1 << 16)
            except ConnectionResetError:
                more = b""
            if not more:
                self.got.append("the end")
                return None
            self.buffer += more
        length = 1 + struct.unpack("!i", self.buffer[1:5])[0]
        kind, body = self.buffer[:1].decode(), self.buffer[5:length]
        self.buffer = self.buffer[length:]
        self.note(kind, body)
        return kind, body

    def note(self, kind, body):
        if kind in "EN":
            fields = {
                CODES[part[:1].decode()]: part[1:].decode() for part in body.split(b"\0") if part[:1].decode() in CODES
            }
            if fields["severity"].startswith("DEBUG"):
                run = fields["message"].partition("fastcsv has read: ")[2]
                self.loads += [run for run in [json.loads(run)] if run["operation"] == "load"] if run else []
                return
            own, rest = own_line(fields.get("context"))
            self.context += own
            self.got.append([kind] + [fields.get(name) for name in ERROR_FIELDS] + rest)
        elif kind == "K":
            self.key = struct.unpack("!ii", body)
        elif kind != "S":
            self.got.append(kind + body.decode("latin-1"))

    def until(self, kinds):
        """Listens until a message of one of these kinds has come; None if the end comes first."""
        while True:
            found = self.receive()
            if found is None or found[0] in kinds:
                return found

    def until_ready(self, times=1):
        for _ in range(times):
            if self.until("Z") is None:
                return

    def close(self):
        self.socket.close()
