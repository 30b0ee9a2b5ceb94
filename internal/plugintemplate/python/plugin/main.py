#!/usr/bin/env python3
"""Makes actions of a service that keeps notes."""
from dataclasses import dataclass
from typing import Annotated, List, Literal, Optional

from flowrun import Call, Example, Field, HTTPSettings, NoInput, Plugin


@dataclass
class Config(HTTPSettings):
    key: Annotated[Optional[str], Field("Key of the service", secret=True)] = None


@dataclass
class Note:
    text: Annotated[str, Field("What it says", min=1, example="buy milk")]
    level: Annotated[Literal["low", "normal", "high"], Field("How much it matters")] = "normal"


@dataclass
class Added:
    id: Annotated[str, Field("The service's name for it")]


@dataclass
class Notes:
    notes: List[Note]


plugin = Plugin("pluginname", "0.1.0", "Notes of a service", simulator=["simulator.py"])


@plugin.keyed(examples=[Example("Buy milk", Note("buy milk"), Added("n1"))])
def add(c: Call[Config], input: Note) -> Added:
    """Add a note"""
    return c.http.with_bearer(c.config.key).post("/v1/notes", input).json(Added)


@plugin.read(name="list")
def list_notes(c: Call[Config], input: NoInput) -> Notes:
    """List the notes"""
    return c.http.with_bearer(c.config.key).get_json("/v1/notes", Notes)


if __name__ == "__main__":
    plugin.serve()
