#!/usr/bin/env python3
"""The Python half of the twins: testdata/twin/main.go is the other one. Both must behave alike."""
import datetime
import threading
from dataclasses import dataclass
from typing import Annotated, Any, Dict, Literal, Optional

from flowrun import (
    Applied, ByCursor, ByIndex, ByLink, ByNumber, Call, ClientCredentials, Code, Delivery, Error, Example, Fault, Field, HTTPSettings, Limit, NextPage, NoInput,
    Page, Paged, Pending, Plugin, Problem, Prompt, RangeMax, Reconciled, RefreshToken, Request, StateChanged, Token,
    TokenRequest, TokenSettings, Value, auth_required, is_unknown, path, pointer, rate_limited,
)


@dataclass
class Config(TokenSettings, HTTPSettings):
    api_key: Annotated[Optional[str], Field("Key of the service", secret=True)] = None
    region: Annotated[str, Field("Where", enum=["eu", "us"])] = "eu"


@dataclass
class Inner:
    name: Annotated[str, Field(min=1)]
    value: Optional[int] = None


@dataclass
class EchoIn:
    text: Annotated[str, Field("A <text> & more", min=1, max=8, pattern="^[A-Za-zü]+$", example="Bonn")]
    kind: Annotated[Literal["A", "AAAA", "MX"], Field("Which")] = "A"
    level: Annotated[Optional[int], Field(enum=[1, 2, 3])] = None
    limit: Annotated[int, Field(min=1, max=9007199254740993)] = 100
    ratio: Annotated[Optional[float], Field(min=0, max=1.5)] = None
    active: bool = True
    since: Optional[datetime.datetime] = None
    day: Annotated[Optional[str], Field(format="date")] = None
    site: Annotated[Optional[str], Field(format="uri")] = None
    address: Annotated[Optional[str], Field(format="ipv4")] = None
    id: Annotated[Optional[str], Field(format="uuid")] = None
    every: Annotated[Optional[str], Field(format="duration")] = None
    tags: Annotated[Optional[list[str]], Field(enum=["red", "green"], min=1, max=3)] = None
    data: Optional[bytes] = None
    body: Optional[Value] = None
    texts: Optional[dict[str, str]] = None
    inner: Optional[Inner] = None
    inners: Optional[list[Inner]] = None
    password: Annotated[Optional[str], Field(secret=True, min=8)] = None
    from_: Annotated[Optional[str], Field(name="from")] = None


@dataclass
class EchoOut:
    text: str
    kind: str
    limit: int
    level: Optional[int]
    ratio: Optional[float]
    active: bool
    tags: list[str]
    texts: dict[str, str]
    body: Value
    inner: Optional[Inner]
    inners: list[Inner]
    password: Annotated[Optional[str], Field(secret=True)] = None


@dataclass
class FetchIn:
    path: str
    query: Optional[str] = None
    max_body: int = 0


@dataclass
class ValueOut:
    value: Value


@dataclass
class Record:
    id: int
    name: str
    labels: Optional[list[str]]


@dataclass
class HowIn:
    how: str
    text: str = ""


@dataclass
class TextOut:
    text: str


@dataclass
class ListIn:
    by: Literal["cursor", "number", "index", "link"]
    cursor: Optional[str] = None


@dataclass
class SpanIn:
    start: str
    end: str


plugin = Plugin("twin", "1.2.3", "One half of the twins", base_url="https://api.example.com/", hosts=["cdn.example.com"], env=["TWIN_DEBUG"],
                uses_state=True, limits=[Limit("all", 10, 1, fixed_window=True, scope=["base_url", "region"]), Limit("open", 0, 0, max_concurrent=4)],
                token_action="grant", simulator=["twin-sim", "--quiet"], delivery=Delivery("pay", "text", title="how"))


@plugin.read("echo", "Give the input back", limits=["all"], timeout=60, examples=[Example("Bonn", {"limit": 5, "text": "Bonn"})])
def echo(c: Call[Config], i: EchoIn) -> EchoOut:
    return EchoOut(i.text, i.kind, i.limit, i.level, i.ratio, i.active, i.tags or [], i.texts or {}, i.body or Value(b"null"), i.inner, i.inners or [], i.password)


# A schema of references, as generators write it.
NODE = '''{"$ref":"#/$defs/node","$defs":{"node":{"type":"object","required":["name"],"additionalProperties":false,"properties":{"name":{"$ref":"#/$defs/name"},"size":{"$ref":"#/$defs/a~1b","default":7},"next":{"$ref":"#/$defs/node"},"all":{"type":"array","items":{"$ref":"#/$defs/name"}}}},"name":{"type":"string","maxLength":3},"a/b":{"type":"integer"}}}'''


@plugin.read("graph", "Give a node back", input_schema=NODE, output_schema=NODE)
def graph(c: Call[Config], i: Dict[str, Any]) -> Dict[str, Any]:
    return i


@plugin.validate_with("echo")
def texts(i: EchoIn, unknown: list[str]) -> list[Problem]:
    if is_unknown(unknown, "/text") or i.text != "same":
        return []
    return [Problem("/text", "must not be `same`", "take another"), Problem("/kind", "is odd", warning=True)]


@plugin.narrow_with("echo")
def narrowed(i: EchoIn, unknown: list[str]) -> Optional[str]:
    return None if is_unknown(unknown, "/kind") or i.kind != "MX" else '{"type":"object","properties":{"kind":{"const":"MX"}}}'


@plugin.read("regional", "Give the kind back, as the connection's region takes it")
def regional(c: Call[Config], i: EchoIn) -> ValueOut:
    return ValueOut(Value(b'"' + i.kind.encode() + b'"'))


@plugin.validate_on("regional")
def in_region(config: Config, i: EchoIn, unknown: list[str]) -> list[Problem]:
    if is_unknown(unknown, "/kind") or (config.region, i.kind) != ("us", "MX"):
        return []
    return [Problem("/kind", "is not for `us`", "take another"), Problem("/text", "is odd", warning=True)]


@plugin.narrow_on("regional")
def of_region(config: Config, i: EchoIn, unknown: list[str]) -> Optional[str]:
    return '{"type":"object","properties":{"value":{"type":"string"}},"required":["value"]}' if config.region == "us" and not config.api_key else None


@plugin.read("fetch", "Read a path", faults=[Fault(Code.NOT_FOUND, "gone", "There is none")], deprecated="use fetch2")
def fetch(c: Call[Config], i: FetchIn) -> ValueOut:
    query = {"api_key": i.query} if i.query else None
    http = c.http.with_header("X-Api-Key", c.config.api_key)
    return ValueOut(http.do(Request(i.path, query=query, max_body=i.max_body)).document())


@plugin.read("record", "Read a record")
def record(c: Call[Config], i: FetchIn) -> Record:
    return c.http.get_json(i.path, Record)


@plugin.keyed("send", "Send a document")
def send(c: Call[Config], i: FetchIn) -> ValueOut:
    c.log.info("sending", where=i.path)
    return ValueOut(c.http.with_bearer(c.config.api_key).post(i.path, {"a": 1}).document_or_null())


@plugin.read("elsewhere", "Read another origin")
def elsewhere(c: Call[Config], i: HowIn) -> ValueOut:
    http = c.http.with_bearer(c.config.api_key)
    if i.how == "client":
        return ValueOut(http.do(Request(url=i.text)).document())
    if i.how == "header":
        return ValueOut(http.do(Request(url=i.text, headers={"X-Mine": c.config.api_key or ""})).document())
    return ValueOut(http.do(Request(url=i.text, query={"t": "secret-in-query"}, secret_query=["t"])).document())


@plugin.once("pay", "Pay once")
def pay(c: Call[Config], i: HowIn) -> TextOut:
    raise Error(Code.UNAVAILABLE, "the answer was lost")


@plugin.reconcile_with("pay")
def paid(c: Call[Config], i: HowIn) -> Reconciled:
    if i.how == "fault":
        raise KeyError("a bug")
    return Reconciled(Applied.APPLIED, TextOut(c.run.idempotency_key), "found it") if i.how == "done" else Reconciled(Applied.NOT_APPLIED)


@plugin.read("list", "All things", paged=Paged("cursor", "items", "next_cursor", items_named_by="id"))
def things(c: Call[Config], i: ListIn) -> Page:
    if i.by == "link":
        cursor = c.page_at(i.cursor)
        return c.read_page(c.http.do(Request(url=cursor) if cursor else Request("/link")), next=ByLink())
    if i.by == "cursor":
        cursor = c.page_at(i.cursor)
        try:
            answer = c.http.get("/cursor", {"cursor": cursor or None})
        except Error as error:
            raise c.cursor_refused(error)
        return c.read_page(answer, next=ByCursor("next"), list_input="/items_field")
    start = 1 if i.by == "number" else 0
    at = c.page_number(None, start, "/cursor")
    how: NextPage = ByNumber(at, 1, 2) if i.by == "number" else ByIndex(at, 0, "start", "total")
    return c.read_page(c.http.get("/" + i.by, {"at": at}), next=how)


@plugin.narrow_items("list")
def told_apart(i: ListIn, unknown: list[str]) -> str:
    return "-" if not is_unknown(unknown, "/cursor") and i.cursor == "repeating" else ""


@plugin.idempotent("wait", "Wait for a person", incremental=True)
def wait(c: Call[Config], i: HowIn) -> TextOut:
    if c.checkpoint:
        c.set_watermark(b"mark")
        return TextOut(c.checkpoint.decode())
    raise Pending(1.5, b"point", "waiting for " + (c.config.api_key or "nobody"),
                  Prompt("Log in", "https://example.com/device", "ABCD", datetime.datetime(2026, 1, 31, 9, tzinfo=datetime.timezone.utc), "please"))


@plugin.read("remember", "Count in the state")
def remember(c: Call[Config]) -> TextOut:
    held = c.state.get("n")
    count = int(held.value or b"0") + 1
    version = c.state.put("n", str(count).encode(), held.version, 60)
    try:
        c.state.put("n", b"9", held.version)
        return TextOut("an old version was taken")
    except StateChanged:
        pass
    run, shared = c.state.of_run().get("n"), c.state.of_plugin().get("n")
    return TextOut(f"{count} {version} {run.version} {shared.version}")


@plugin.read("grant", "Give a token")
def grant(c: Call[Config], i: HowIn) -> TextOut:
    def renew(stale: Optional[Token]) -> Token:
        if i.text == "gone":
            raise auth_required("the grant is gone")
        if i.text == "bug":
            raise ValueError("a bug")
        return Token("fresh-token-123", expires_at=datetime.datetime(2030, 1, 1, tzinfo=datetime.timezone.utc))
    token = c.token(TokenRequest(refresh=renew, min_ttl=30, reject=i.how))
    c.log.info("got " + token.access_token)
    return TextOut(f"{token.id} {len(token.access_token)} {token.refresh_token}")


@plugin.keyed("oauth", "Send a form with a token of a grant")
def oauth(c: Call[Config], i: HowIn) -> TextOut:
    secret, url = c.config.api_key or "", i.text
    grant = {
        "basic": ClientCredentials(url, "me:you", secret, ["read", "write"]),
        "body": ClientCredentials(url, "me:you", secret, in_body=True, params={"audience": "a b"}),
        "public": RefreshToken(url, "me:you", refresh_token="first-refresh"),
        "renew": RefreshToken(url, "me:you", secret, refresh_token="first-refresh", scopes=["read"]),
        "login": RefreshToken(url, "me:you", secret),
    }[i.how]
    return TextOut(c.http.with_header("X-Own", "mine").with_grant(grant).post_form("/form", {"a": ["1 2", "3"], "b": 4}).document().decode())


@plugin.read("fail", "Fail in a way")
def fail(c: Call[Config], i: HowIn) -> TextOut:
    if i.how == "bug":
        raise KeyError("a bug with " + (c.config.api_key or ""))
    if i.how == "limit":
        raise rate_limited(7, "slow down").with_hint("wait").with_reason("slow_down")
    if i.how == "exit":
        raise SystemExit(3)
    if i.how == "details":
        raise Error(Code.DENIED, "no " + (c.config.api_key or ""), details={"who": c.config.api_key, "url": pointer("a/b", 3)}, applied=Applied.PARTLY)
    if i.how == "large":
        return TextOut("x" * (9 << 20))
    if i.how == "hang":
        threading.Event().wait(60)
    if i.how == "sleep":
        c.sleep(60)
    if i.how == "path":
        return TextOut(path("a b/c", i.text))
    if i.how == "print":
        print("printed")
    for n in range(3):
        c.log.warn(f"line {n} {c.config.api_key}", key=c.config.api_key, n=n)
    c.progress(0.5, "half of " + (c.config.api_key or ""))
    c.meta("asked", i.how)
    return TextOut(f"{c.run.workflow} {c.run.run_id} {c.run.step} {c.run.attempt} {c.run.idempotency_key} {c.connection_name}")


@plugin.read("span", "A range", range_max=RangeMax("start", "end", 48))
def span(c: Call[Config], i: SpanIn) -> TextOut:
    return TextOut(i.start)


@plugin.check_connection
def check(c: Call[Config]) -> Optional[str]:
    if c.config.region == "us":
        c.not_tried("no request is harmless")
        return None
    return str(c.http.get("/me").document().load()["name"])


@plugin.validate_config
def configs(config: Config) -> list[Problem]:
    return [Problem("/region", "has no " + config.base_url)] if "nowhere" in config.base_url else []


if __name__ == "__main__":
    plugin.serve()
