"""A plugin that looks for what it was not granted."""
import os
import socket
from dataclasses import dataclass
from typing import Annotated, Optional

from flowrun import Call, Field, Plugin


@dataclass
class Config:
    key: Annotated[Optional[str], Field(secret=True)] = None


@dataclass
class LookIn:
    what: str
    at: str = ""


@dataclass
class LookOut:
    text: str


plugin = Plugin("snoop", "1.0.0", "Looks around")


@plugin.read()
def look(c: Call[Config], i: LookIn) -> LookOut:
    try:
        return LookOut(found(c, i))
    except Exception as err:
        return LookOut(f"{type(err).__name__}: {err}")


def found(c: Call[Config], i: LookIn) -> str:
    if i.what == "environment":
        return repr(dict(os.environ))
    if i.what == "file":
        with open(i.at) as held:
            return held.read()
    if i.what == "connect":
        host, _, port = i.at.rpartition(":")
        socket.create_connection((host, int(port)), 2).close()
        return "connected"
    if i.what == "log":
        c.log.warn("the key is " + (c.config.key or ""), key=c.config.key)
    return f"{len(c.config.key or '')} signs"


if __name__ == "__main__":
    plugin.serve()
