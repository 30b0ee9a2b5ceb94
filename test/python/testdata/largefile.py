#!/usr/bin/env python3
"""A plugin that gives and takes large values, for tests."""
from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Annotated, Optional

from flowrun import Blob, Call, Code, Error, Example, Field, Plugin


@dataclass
class Config:
    pass


@dataclass
class MakeIn:
    size: Annotated[int, Field("How many bytes")] = 3000000
    stop: Annotated[int, Field("Fails after so many; 0 = never")] = 0


@dataclass
class CopyIn:
    blob: Annotated[Blob, Field("What to copy")]


@dataclass
class Made:
    blob: Blob
    began: int
    noted: str
    digest: str


plugin = Plugin("largefile", "1.0.0", "Gives and takes large values")


def line(at: int) -> bytes:
    return b"%015d\n" % (at // 16)


@plugin.read(examples=[Example("three parts", MakeIn())])
def make(c: Call[Config], input: MakeIn) -> Made:
    """Make a large value of numbered lines"""
    out = c.new_blob(name="lines.txt", media_type="text/plain")
    if out.finished:
        return Made(out.finished, -1, out.note.decode(), "")
    began, noted = out.size, out.note.decode()
    out.set_note(b"lines 1")
    while out.size < input.size:
        at = out.size
        out.write(line(at)[at % 16:input.size - at + at % 16])
        if 0 < input.stop <= out.size:
            out.flush()
            raise Error(Code.UNAVAILABLE, "the line broke")
    return Made(out.finish(), began, noted, "")


@plugin.read()
def copy(c: Call[Config], input: CopyIn) -> Made:
    """Copy a large value"""
    digest: Optional[str] = None
    with c.open_blob(input.blob) as source:
        out = c.new_blob(name="copy.txt", sensitive=True)
        out.copy(source)
        source.seek(0)
        whole = hashlib.sha256()
        while data := source.read(100000):
            whole.update(data)
        digest = whole.hexdigest()
    return Made(out.finish(), 0, "", digest)


if __name__ == "__main__":
    plugin.serve()
