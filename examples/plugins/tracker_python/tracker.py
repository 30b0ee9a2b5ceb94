#!/usr/bin/env python3
"""Wraps an issue tracker: lists by link and by number, a range that the service bounds, an export that takes its time, and
a cache in the host's state. ../tracker is the same in Go."""
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, List, Literal, Optional

from flowrun import (
    ByLink, ByNumber, Call, Error, Field, HTTPClient, HTTPSettings, Limit, Page, Paged, Pending, Plugin, RangeMax, Request,
    StateChanged, TokenSettings, Value, dumps, path,
)


@dataclass
class Config(TokenSettings, HTTPSettings):
    pass


def service(c: Call[Config]) -> HTTPClient:
    """The HTTP client with the token of the config, or of the connection that it names."""
    return c.http.with_bearer(c.access_token(c.config))


plugin = Plugin("tracker", "1.0.0", "An issue tracker", limits=[Limit("api", 100, 60)], uses_state=True)


@dataclass
class Me:
    login: str


@plugin.check_connection
def who(c: Call[Config]) -> str:
    return service(c).get_json("/me", Me).login


@dataclass
class ListIn:
    cursor: Annotated[Optional[str], Field("Page to begin with")] = None


@plugin.read(name="list", paged=Paged("cursor", "items", "next_cursor", items_named_by="id"), limits=["api"])
def list_(c: Call[Config], i: ListIn) -> Page:
    """All issues"""
    link = c.page_at(i.cursor)
    try:
        response = service(c).do(Request(url=link) if link else Request("/issues"))
    except Error as error:
        raise c.cursor_refused(error)
    return c.read_page(response, next=ByLink())


@dataclass
class SearchIn:
    text: Annotated[str, Field(min=1)]
    page: Annotated[Optional[int], Field(min=1)] = None


@plugin.read(paged=Paged("page", "items", "next_cursor", items_named_by="id"), limits=["api"])
def search(c: Call[Config], i: SearchIn) -> Page:
    """Find issues"""
    at = c.page_number(i.page, 1, "/page")
    response = service(c).get("/search", {"q": i.text, "per_page": 50, "page": at})
    return c.read_page(response, list="hits", next=ByNumber(at, 1, 50))


@dataclass
class HoursIn:
    from_: Annotated[datetime, Field(name="from")]
    to: datetime


@dataclass
class HoursOut:
    hours: List[Value]


@plugin.read(range_max=RangeMax("from", "to", 7 * 24), limits=["api"])
def hours(c: Call[Config], i: HoursIn) -> HoursOut:
    """Hours that were worked"""
    return service(c).get_json("/hours", HoursOut, {"from": i.from_, "to": i.to})


@dataclass
class ExportIn:
    format: Literal["csv", "json"] = "csv"


@dataclass
class ExportOut:
    url: Annotated[str, Field(format="uri")]


@dataclass
class ExportJob:
    id: str
    url: Optional[str]


@plugin.idempotent(limits=["api"])
def export(c: Call[Config], i: ExportIn) -> ExportOut:
    """Write an export"""
    if c.checkpoint:
        job = service(c).get_json(path("exports", c.checkpoint.decode()), ExportJob)
    else:
        job = service(c).post("/exports", i).json(ExportJob)
    if not job.url:
        raise Pending(2, job.id.encode(), "the export is being written")
    return ExportOut(job.url)


@dataclass
class LabelsOut:
    labels: List[str]


@plugin.read(limits=["api"])
def labels(c: Call[Config]) -> LabelsOut:
    """Labels, at most an hour old"""
    held = c.state.get("labels")
    if held.version:
        return LabelsOut(**Value(held.value).load())
    fresh = service(c).get_json("/labels", LabelsOut)
    try:
        c.state.put("labels", dumps(fresh).encode(), held.version, 3600)
    except StateChanged as error:
        c.log.debug("not kept", error=error)  # another call was first
    return fresh


if __name__ == "__main__":
    plugin.serve()
