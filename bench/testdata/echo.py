#!/usr/bin/env python3
from dataclasses import dataclass
from typing import Annotated

from flowrun import Call, Field, Plugin


@dataclass
class Config:
    pass


@dataclass
class Echo:
    text: Annotated[str, Field("Returned as it is")]


plugin = Plugin("echo", "1.0.0", "Answers at once")


@plugin.read()
def echo(c: Call[Config], input: Echo) -> Echo:
    """Return the text"""
    return input


if __name__ == "__main__":
    plugin.serve()
