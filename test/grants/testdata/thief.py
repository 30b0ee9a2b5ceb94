"""The thief in Python: testdata/thief is the one in Go. By the name of its file it is the neighbour too."""
import glob
import os
import re
import socket
import stat
from dataclasses import dataclass
from typing import Annotated, Any, Optional

from flowrun import Call, Error, Field, NoInput, Plugin, Token, TokenRequest

MAX_FILE = 8 << 20
CANARY = re.compile(rb"canary-([a-z_]+)-([0-9a-f]{16})")


@dataclass
class Config:
    key: Annotated[Optional[str], Field(secret=True)] = None
    home: Annotated[Optional[str], Field("Hidden in a file of its home", secret=True)] = None
    state: Annotated[Optional[str], Field("Hidden in its state", secret=True)] = None
    token: Annotated[Optional[str], Field("Hidden as its token", secret=True)] = None
    plain: Annotated[Optional[str], Field("Is no secret, and stays in flowrun.yaml")] = None


@dataclass
class Hidden:
    places: int


@dataclass
class Search:
    files: list[str]
    folders: list[str]
    connections: Annotated[list[str], Field("Of others")]
    socket: Annotated[str, Field("Of the engine")]


@dataclass
class Loot:
    found: Annotated[list[str], Field("NAME HEX WAY, HEX backwards: nothing masks it")]
    tried: Annotated[list[str], Field("What came of each question to the host")]

    def look(self, way: str, text: bytes) -> None:
        for name, held in CANARY.findall(text):
            self.found.append(f"{name.decode()} {held.decode()[::-1]} {way}")

    def file(self, way: str, path: str) -> None:
        try:
            info = os.stat(path)
            if stat.S_ISREG(info.st_mode) and info.st_size <= MAX_FILE:
                with open(path, "rb") as held:
                    self.look(way, held.read())
        except OSError:
            pass


plugin = Plugin(os.path.basename(__file__).partition(".")[0], "1.0.0", "Hides and seeks")


@plugin.idempotent()
def hide(c: Call[Config], _: NoInput) -> Hidden:
    """Put what the connection has where it belongs"""
    with open(os.path.join(os.environ["HOME"], "hidden"), "w") as file:
        file.write(c.config.home or "")
    states = [c.state, c.state.of_plugin(), c.state.of_run()]
    for state in states:
        state.put("hidden", (c.config.state or "").encode(), state.get("hidden").version)
    text = c.config.token or ""
    c.token(TokenRequest(refresh=lambda _: Token(text, refresh_token=text), force=True))
    return Hidden(2 + len(states))


@plugin.read()
def search(c: Call[Config], i: Search) -> Loot:
    """Look for what was not granted"""
    loot = Loot([], [])
    loot.look("its connection", (c.config.key or "").encode())
    loot.look("its environment", "\n".join(f"{k}={v}" for k, v in os.environ.items()).encode())
    processes(loot)
    descriptors(loot)
    for file in i.files:
        loot.file("a file by its name", file)
    for folder in i.folders:
        for at, _, names in os.walk(folder):
            for name in names:
                loot.file("a folder", os.path.join(at, name))
    ask(c, loot, i)
    engine(loot, i.socket)
    loot.found = sorted(set(loot.found))
    return loot


def processes(loot: Loot) -> None:
    parent = f"/proc/{os.getppid()}"
    for folder in glob.glob("/proc/[0-9]*") + [parent, "/proc/self"]:
        for name in ("environ", "cmdline"):
            loot.file("/proc/PID/" + name, f"{folder}/{name}")
    for file in glob.glob(parent + "/fd/*"):  # what the engine has open
        loot.file("/proc/PID/fd", file)


def descriptors(loot: Loot) -> None:
    for number in range(64):
        try:
            loot.look("an open descriptor", os.pread(number, 64 << 10, 0))
        except OSError:
            pass


def ask(c: Call[Config], loot: Loot, i: Search) -> None:
    """Asks by the SDK's own way to the host: with it a process may ask whatever it likes."""
    def tried(what: str, way: str, method: str, **fields: Any) -> None:
        try:
            answer = c._core.ask_host("it", "look", method, **fields)
        except Error as err:
            loot.tried.append(f"{what}: {err}")
            return
        loot.tried.append(f"{what}: " + ("an answer" if getattr(answer, "found", True) else "nothing"))
        loot.look(way, str(answer).encode() + getattr(answer, "value", b""))
    scopes = ["plugin", "run"]
    for name in i.connections:
        scopes.append("connection/" + name)
        for peek in (True, False):
            tried("token of " + name, "a token of the host", "AcquireToken", connection=name, peek=peek)
    for scope in scopes:
        tried("state of " + scope, "a state of the host", "GetState", scope=scope, key="hidden")


def engine(loot: Loot, at: str) -> None:
    for path in ("/api/v1/runs", "/api/v1/connections"):
        try:
            with socket.socket(socket.AF_UNIX) as line:
                line.settimeout(5)
                line.connect(at)
                line.sendall(f"GET {path} HTTP/1.0\r\nHost: flowrun\r\n\r\n".encode())
                with line.makefile("rb") as answer:
                    text = answer.read(MAX_FILE)
            loot.tried.append("the engine: " + (text[9:12].decode() or "nothing"))
            loot.look("the engine's API", text)
        except OSError:
            loot.tried.append("the engine: nothing")


if __name__ == "__main__":
    plugin.serve()
