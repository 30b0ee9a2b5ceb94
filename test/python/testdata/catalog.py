"""A plugin that describes what it is told: each name of a document is an action, typed by the schema that stands there."""
from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated, Any, Optional

from flowrun import (
    ActionBody, Applied, Call, Code, Entry, Error, Example, Fault, Field, HTTPSettings, Limit, Manifest, Plugin, Problem, Reconciled, Told, invalid,
)


@dataclass
class Settings:
    document: Annotated[str, Field(doc="Names with a path and a schema each", format="project-file")]
    only: Annotated[Optional[list[str]], Field(doc="Names to take")] = None


@dataclass
class Config(HTTPSettings):
    token: Annotated[Optional[str], Field(doc="Token of the service", secret=True)] = None


INPUT = {"type": "object", "properties": {"id": {"type": "integer"}, "size": {"type": "integer", "default": 3}}, "required": ["id"], "additionalProperties": False}


def describe(told: Told[Settings]) -> Manifest:
    file = told.file("/document")
    if file is None:
        raise invalid("/document", "the host hands over no file")
    try:
        document = json.loads(file.content)
    except ValueError:
        raise invalid("/document", f"{file.path} is no JSON").with_hint("write it anew") from None
    for i, name in enumerate(told.settings.only or []):
        if name not in document:
            raise invalid(f"/only/{i}", f"the document has no {name}")
    names = told.settings.only or sorted(document)

    def action(name: str) -> ActionBody:
        of = document[name]
        return ActionBody(INPUT, of["schema"], json.dumps({"path": of["path"]}).encode(), faults=[Fault(Code.NOT_FOUND, "gone", "There is none")],
                          examples=[Example("one", {"id": 1})])
    return Manifest([Entry(name, f"Read {name}", document[name].get("effect", "read"), limits=["api"]) for name in names], action,
                    doc="A catalog of " + told.name, recipe=b"of connections", limits=[Limit("api", 10, 1)],
                    warnings=[Problem("/document", f"{name} has no doc", warning=True) for name in names[:1]])


def execute(c: Call[Config], recipe: bytes, input: Any) -> Any:
    if c.recipe != b"of connections":
        raise Error(Code.INTERNAL, "the connection's recipe is lost")
    path: str = json.loads(recipe)["path"]
    query = {"id": str(input["id"]), "size": str(input["size"])}
    http = c.http.with_bearer(c.config.token) if c.config.token else c.http
    return (http.post(path, query) if path.startswith("/write") else http.get(path, query)).document_or_null()


def validate(recipe: bytes, input: Any, unknown: list[str]) -> tuple[list[Problem], Any]:
    if "/id" in unknown or input["id"] != 13:
        return [], None
    return [Problem("/id", "brings no luck")], None


def reconcile(c: Call[Config], recipe: bytes, input: Any) -> Reconciled:
    return Reconciled(Applied.UNKNOWN, None, "nobody knows")


plugin = Plugin("catalog", "1.0.0", "Actions of a document")
plugin.described(describe, execute, validate=validate, reconcile=reconcile)

if __name__ == "__main__":
    plugin.serve()
