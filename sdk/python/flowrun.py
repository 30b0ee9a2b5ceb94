"""The SDK for plugins of flowrun in Python: one file, on grpcio and protobuf, no generated code.

A plugin wraps one service as actions. The schemas come from dataclasses and annotations, the effect of an
action from its decorator, errors from what they mean:

    plugin = Plugin("weather", "1.0.0", "The weather of a city")

    @plugin.read()
    def current(c: Call[Config], input: CurrentIn) -> CurrentOut:
        "Read the weather of now"
        return c.http.get_json("/v1/current", CurrentOut, {"city": input.city})

    plugin.serve()

It does what package `sdk` does for Go, in the same words: names are those of Go, written as Python writes them.
Calls run at the same time, each in a thread of its own.

Needs Python 3.9, grpcio 1.30 and protobuf 3.12, or later. Copy it beside your plugin; `python3 flowrun.py pack
PLUGIN.py` makes one file of both.
"""
from __future__ import annotations

import base64
import calendar
import ctypes
import dataclasses
import datetime
import decimal
import enum
import functools
import hashlib
import hmac
import html
import importlib
import inspect
import io
import ipaddress
import json
import os
import queue
import re
import select
import socket
import ssl
import sys
import tempfile
import threading
import time
import traceback
import typing
import unicodedata
import urllib.parse
import zlib
from concurrent import futures
from typing import (
    Any, Callable, Dict, Generic, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple, Type, TypeVar, Union,
    cast,
)

SDK_VERSION = "python/0.1.0"  # what Describe reports: which SDK made the plugin
PROTOCOL_MINOR = 1

MIB = 1 << 20
DEFAULT_MESSAGE_LIMIT, MAX_MESSAGE_LIMIT = 8 * MIB, 64 * MIB
DEFAULT_MAX_BODY, HARD_MAX_BODY = 8 * MIB, 64 * MIB
REASON_TOKEN_REFUSED = "token_refused"  # of an AUTH_REQUIRED after which the host keeps the token

T = TypeVar("T")
C = TypeVar("C")
F = TypeVar("F", bound=Callable[..., Any])


# ---- errors --------------------------------------------------------------------------------------------------------

class Code(enum.IntEnum):
    """The kind of a failure: what the engine decides by."""

    INVALID = 1  # refused before sending, or by the service; never retried
    UNAUTHORIZED = 2  # credential refused; with NOT_APPLIED the host renews a token and calls once more
    AUTH_REQUIRED = 3  # a person has to log in: the run pauses
    FORBIDDEN = 4  # the credential may not do this
    NOT_FOUND = 5  # no such thing
    CONFLICT = 6  # against the present state of the service
    RATE_LIMITED = 7  # retry_after is honoured, the limiter of all runs is closed
    QUOTA_EXHAUSTED = 8  # not soon again
    UNAVAILABLE = 9  # network, 5xx
    TIMEOUT = 10  # no answer in time
    CANCELED = 11  # the caller gave up
    DENIED = 12  # a person refused
    EXPIRED = 13  # a code or a deadline ran out
    CURSOR_EXPIRED = 14  # pagination starts again from page 1, once
    UNEXPECTED_RESPONSE = 15  # not JSON, wrong shape, truncated
    UNSUPPORTED = 16  # the service or the host cannot do this
    CRASHED = 17  # said by the host only
    INTERNAL = 18  # a bug of the plugin
    UNKNOWN_OUTCOME = 19  # nobody can tell whether the effect happened


class Applied(enum.IntEnum):
    """Whether the side effect of a failed call happened."""

    UNKNOWN = 0
    NOT_APPLIED = 1
    APPLIED = 2
    PARTLY = 3


class Error(Exception):
    """The failure of a call. Message, hint and details must be safe to show and to store: no secrets, no URLs with
    queries (values of secret fields are masked anyhow)."""

    def __init__(self, code: Code, message: str, *, reason: str = "", http_status: int = 0, retry_after: float = 0,
                 applied: Applied = Applied.UNKNOWN, pointer: str = "", limiter: str = "", hint: str = "",
                 details: Optional[Dict[str, Any]] = None) -> None:
        super().__init__(message)
        self.code, self.message = code, message
        self.reason = reason  # the service's own word, such as "slow_down"
        self.http_status = http_status  # of the answer, 0 = there was none
        self.retry_after = retry_after  # seconds, with RATE_LIMITED and UNAVAILABLE
        self.applied = applied  # did the side effect happen?
        self.pointer = pointer  # JSON Pointer into the input: "/domain"
        self.limiter = limiter  # with RATE_LIMITED: which limiter is closed; "" = the action's only one
        self.hint = hint  # what to do about it, one sentence
        self.details: Dict[str, Any] = details or {}  # JSON for people and for on_failure

    def __str__(self) -> str:
        return f"{self.code.name.lower()}: {self.message}"

    def with_hint(self, hint: str) -> "Error":
        self.hint = hint
        return self

    def with_reason(self, reason: str) -> "Error":
        self.reason = reason
        return self

    def without_body(self) -> "Error":
        """Without the excerpt of the answer's body: for answers that may hold a token."""
        self.details.pop("body", None)
        return self


def refused(code: Code, message: str) -> Error:
    """The error of a call that has done nothing: it was not sent, or the service did not take it."""
    return Error(code, message, applied=Applied.NOT_APPLIED)


def invalid(pointer: str, message: str) -> Error:
    """The error of a wrong input found before anything was sent; pointer is a JSON Pointer into the input."""
    return Error(Code.INVALID, message, applied=Applied.NOT_APPLIED, pointer=pointer)


def not_found(message: str) -> Error:
    """The error of a thing that the service does not have."""
    return refused(Code.NOT_FOUND, message)


def forbidden(message: str) -> Error:
    """The error of a credential that may not do this."""
    return refused(Code.FORBIDDEN, message)


def auth_required(message: str) -> Error:
    """The error that pauses a run until a person has logged in."""
    return refused(Code.AUTH_REQUIRED, message)


def rate_limited(retry_after: float, message: str) -> Error:
    """The error of a closed limiter; 0 leaves the wait to the engine's backoff."""
    error = refused(Code.RATE_LIMITED, message)
    error.retry_after = retry_after
    return error


def cursor_expired(message: str) -> Error:
    """The error after which pagination starts again from page 1, once."""
    return refused(Code.CURSOR_EXPIRED, message)


def unexpected_response(message: str) -> Error:
    """The error of an answer that is not what the service's documents promise."""
    return Error(Code.UNEXPECTED_RESPONSE, message)


@dataclasses.dataclass
class Prompt:
    """Something that a person must do, such as a device login."""

    title: str = ""
    url: str = ""
    user_code: str = ""
    expires_at: Optional[datetime.datetime] = None
    message: str = ""


class Pending(Exception):
    """Raised by an action that is not done yet. It is no failure: the engine stores it and calls again after
    retry_after seconds (0 = at once) with the same checkpoint. The step's timeout bounds the whole."""

    def __init__(self, retry_after: float = 0, checkpoint: bytes = b"", message: str = "",
                 prompt: Optional[Prompt] = None) -> None:
        super().__init__(message or "pending")
        self.retry_after, self.checkpoint, self.message, self.prompt = retry_after, checkpoint, message, prompt


class StateChanged(Exception):
    """Raised by State.put and State.delete when another call changed the entry first: read it again."""


@dataclasses.dataclass
class Problem:
    """Something wrong with an input or a config, found without asking the service."""

    pointer: str  # JSON Pointer into the input or config: "/type"; "" = the whole
    summary: str  # what is wrong, one line
    detail: str = ""  # what to do about it
    warning: bool = False  # shown, and does not refuse the call


def _first_error(problems: List[Problem]) -> Optional[Error]:
    for p in problems:
        if p.warning:
            continue
        error = invalid(p.pointer, p.summary).with_hint(p.detail)
        if len(problems) > 1:
            error.details = {"problems": [_problem_details(q) for q in problems]}
        return error
    return None


def _problem_details(p: Problem) -> Dict[str, Any]:
    entry: Dict[str, Any] = {"pointer": p.pointer, "summary": p.summary}
    if p.detail:
        entry["detail"] = p.detail
    if p.warning:
        entry["warning"] = True
    return entry


# ---- text ----------------------------------------------------------------------------------------------------------

_SURROGATES = re.compile("[\ud800-\udfff]")
_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}\Z")


def _clean(text: str) -> str:
    return _SURROGATES.sub("\ufffd", text)


def _cut(text: str, limit: int) -> str:
    """Shortens text to at most limit bytes of UTF-8."""
    text = _SURROGATES.sub("?", text)
    if len(text) <= limit // 4 or len(text.encode()) <= limit:
        return text
    return text.encode()[:max(limit - 3, 0)].decode("utf-8", "ignore") + "..."


def _plain(text: str) -> str:
    """Makes foreign text fit for a message: on one line, without control characters."""
    if text.isascii() and text.isprintable():
        return text
    text = re.sub(r"[\n\r\t]", " ", re.sub("[\ud800-\udfff]+", "?", text))
    return "".join(ch for ch in text if unicodedata.category(ch) != "Cc" and ch not in _BIDI)


def shown(text: str, limit: int) -> str:
    """Makes a text fit for a message: on one line, without control characters, at most limit bytes."""
    return _plain(_cut(text, limit))


def _quote(text: str) -> str:
    parts = []
    for ch in text:
        if ch in '"\\':
            parts.append("\\" + ch)
        elif ch.isprintable():
            parts.append(ch)
        else:
            parts.append(f"\\u{ord(ch):04x}" if ord(ch) < 0x10000 else f"\\U{ord(ch):08x}")
    return '"' + "".join(parts) + '"'


def nearest(word: str, candidates: Iterable[str]) -> str:
    """The candidate that a word was probably meant to be, "" when none is near: the rule that flowrun goes by."""
    size = len(word.encode())
    limit = 1 if size <= 4 else 2 if size <= 8 else 3
    best, best_distance = "", limit + 1
    for candidate in candidates:
        if candidate == word or size == 1 and word.casefold() != candidate.casefold():
            continue
        distance = _edit_distance(word, candidate)
        if distance < best_distance:
            best, best_distance = candidate, distance
    return best


def _edit_distance(a: str, b: str) -> int:
    before: List[int] = []
    previous = list(range(len(b) + 1))
    for i in range(1, len(a) + 1):
        current = [i] + [0] * len(b)
        for j in range(1, len(b) + 1):
            cost = 0 if a[i - 1] == b[j - 1] else 1
            current[j] = min(previous[j] + 1, current[j - 1] + 1, previous[j - 1] + cost)
            if i > 1 and j > 1 and a[i - 1] == b[j - 2] and a[i - 2] == b[j - 1]:
                current[j] = min(current[j], before[j - 2] + 1)
        before, previous = previous, current
    return previous[len(b)]


def _did_you_mean(word: str, candidates: Iterable[str]) -> str:
    match = nearest(word, candidates)
    return f"did you mean `{match}`?" if match else ""


def _count(n: int, what: str) -> str:
    return f"1 {what}" if n == 1 else f"{n} {what}s"


# ---- JSON ----------------------------------------------------------------------------------------------------------

class Number(float):
    """A number as it was written: a float that keeps its digits when it is passed on."""

    text: str

    def __new__(cls, text: str) -> "Number":
        number = super().__new__(cls, text)
        number.text = text
        return number


class Value(bytes):
    """A JSON document that is passed on as it is, byte by byte. As a field it takes any value."""

    def load(self) -> Any:
        """Reads the document; numbers with a fraction become Number."""
        return _loads(self.decode())


class Object(Value):
    """A JSON object of any fields that is passed on as it is."""


class _Digits:
    """A number of a document while it is checked: as it was written."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


_INT = re.compile(r"-?(?:0|[1-9][0-9]*)\Z")


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is no JSON")


def _integer(text: str) -> Any:
    return int(text) if len(text) <= 1001 else Number(text)


_TREE = json.JSONDecoder(parse_float=_Digits, parse_int=_Digits, parse_constant=_no_constant)
_DATA = json.JSONDecoder(parse_float=Number, parse_int=_integer, parse_constant=_no_constant)
_SPACE = re.compile(r"[ \t\r\n]*")


def _loads(text: str) -> Any:
    return _DATA.decode(text)


def _tree(text: str) -> Any:
    return _TREE.decode(text)


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def members(document: str) -> Optional[List[Tuple[str, str]]]:
    """The members of an object in their order, with their values as written; None for what is no object."""
    at = _skip(document, 0)
    if document[at:at + 1] != "{":
        return None
    found: List[Tuple[str, str]] = []
    at = _skip(document, at + 1)
    while document[at] != "}":
        name, at = _TREE.raw_decode(document, at)
        start = _skip(document, _skip(document, at) + 1)
        _, end = _TREE.raw_decode(document, start)
        found.append((name, document[start:end]))
        at = _skip(document, end)
        if document[at] == ",":
            at = _skip(document, at + 1)
    return found


def _elements(document: str) -> List[str]:
    at = _skip(document, _skip(document, 0) + 1)
    found: List[str] = []
    while document[at] != "]":
        _, end = _TREE.raw_decode(document, at)
        found.append(document[at:end])
        at = _skip(document, end)
        if document[at] == ",":
            at = _skip(document, at + 1)
    return found


def _text(value: str) -> str:
    return json.dumps(_clean(value), ensure_ascii=False)


def dumps(value: Any) -> str:
    """Writes what has a JSON form: dataclasses by their fields, Value as it is, numbers as written."""
    if value is None or value is True or value is False:
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, enum.Enum):
        return dumps(value.value)
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Number):
        return value.text
    if isinstance(value, _Digits):
        return value.text
    if isinstance(value, int):
        return int.__repr__(value)
    if isinstance(value, float):
        return json.dumps(value, allow_nan=False)
    return _dump_composite(value)


def _dump_composite(value: Any) -> str:
    if isinstance(value, Value):
        return value.decode() or "null"
    if isinstance(value, (bytes, bytearray)):
        return _text(base64.b64encode(value).decode())
    if isinstance(value, decimal.Decimal):
        if not value.is_finite():
            raise ValueError(f"{value} is no number of JSON")
        return str(value)
    if isinstance(value, datetime.datetime):
        return _text(_time_text(value))
    if isinstance(value, datetime.date):
        return _text(value.isoformat())
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _dump_dataclass(value)
    if isinstance(value, Mapping):
        return "{" + ",".join(_text(str(k)) + ":" + dumps(v) for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple, set, frozenset)):
        return "[" + ",".join([dumps(v) for v in value]) + "]"
    raise TypeError(f"{type(value).__name__} has no JSON form")


def _dump_dataclass(value: Any) -> str:
    parts = []
    for f in _fields(cast(Any, type(value))):
        held = getattr(value, f.attribute)
        if held is None and f.optional:
            continue
        parts.append(_text(f.name) + ":" + dumps(held))
    return "{" + ",".join(parts) + "}"


def _time_text(moment: datetime.datetime) -> str:
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=datetime.timezone.utc)
    return moment.isoformat().replace("+00:00", "Z")


_TOKENS = re.compile(r'[ \t\r\n]+|"(?:[^"\\]|\\.)*"|[{}\[\]:,]|[a-z]+|[-+.eE0-9]+', re.S)


def document_problem(body: bytes) -> str:
    """Looks for what is JSON by its grammar and would be read differently by different readers, or by none."""
    text, fault = body.decode("utf-8", "surrogateescape"), -1
    if any("\udc80" <= ch <= "\udcff" for ch in text) if not text.isascii() else False:
        fault = next(i for i, ch in enumerate(text) if "\udc80" <= ch <= "\udcff")
    stack: List[List[Any]] = []  # of [is object, name, index, value comes, names]
    for found in _TOKENS.finditer(text):
        token = found.group()
        if token in "{[":
            if len(stack) >= 1000:
                return "its values lie more than 1000 deep in one another"
            stack.append([token == "{", "", 0, False, set()])
        elif token in "}]":
            stack.pop()
        elif token == ":":
            stack[-1][3] = True
        elif token == ",":
            stack[-1][3] = False
            stack[-1][2] += 1
        elif token[0] == '"':
            if 0 <= fault < found.end():
                return _no_utf8(text, fault) + _place(stack)
            if stack and stack[-1][0] and not stack[-1][3]:
                name = json.loads(token)
                if name in stack[-1][4]:
                    return f"`{shown(name, 64)}` stands twice" + _place(stack[:-1])
                stack[-1][4].add(name)
                stack[-1][1] = name
        elif token[0] in "-0123456789":
            problem = _number_problem(token)
            if problem:
                return problem + _place(stack)
    return ""


def _no_utf8(text: str, at: int) -> str:
    before = len(text[:at].encode("utf-8", "surrogateescape"))
    return f"byte {before} (0x{ord(text[at]) - 0xdc00:02x}) is no UTF-8"


def _number_problem(text: str) -> str:
    digits = sum(ch.isdigit() for ch in text)
    if digits > 1000:
        return f"a number of {digits} digits, more than 1000"
    if ("e" in text or "E" in text) and float(text) in (float("inf"), float("-inf")):
        return f"the number {shown(text, 64)}, which most readers turn into Infinity"
    return ""


def _place(stack: List[List[Any]]) -> str:
    pointer = ""
    for is_object, name, index, value_comes, _ in stack:
        if not is_object:
            pointer += f"/{index}"
        elif name or value_comes:
            pointer += _name_token(name)
    return f" at {shown(pointer, 200)}" if pointer else ""


def _whole(text: str) -> Optional[int]:
    """A number without a fraction as an integer of 64 bits, however it is written: 3320.0, 1e3."""
    mantissa, _, exponent = text.lower().partition("e")
    sign = -1 if mantissa.startswith("-") else 1
    whole, _, fraction = mantissa.lstrip("-").partition(".")
    if exponent and (len(exponent) > 6 or abs(int(exponent)) > 1000):
        return None
    shift = int(exponent or 0)
    digits, point = whole + fraction, len(whole) + shift
    if point <= 0:
        whole, fraction = "0", digits
    elif point >= len(digits):
        whole, fraction = digits + "0" * (point - len(digits)), ""
    else:
        whole, fraction = digits[:point], digits[point:]
    if fraction.strip("0") or len(whole) > 1001:
        return None
    return _int64(sign * int(whole))


def _int64(n: int) -> Optional[int]:
    return n if -(1 << 63) <= n < 1 << 63 else None


def pointer(*steps: Union[str, int]) -> str:
    """The JSON Pointer (RFC 6901) of a value: names of fields and places in lists, from the outside in."""
    return "".join(_name_token(str(step)) for step in steps)


def _name_token(name: str) -> str:
    return "/" + name.replace("~", "~0").replace("/", "~1")


def is_unknown(unknown: Sequence[str], at: str) -> bool:
    """Whether the input at a JSON Pointer is not known yet while a workflow is checked."""
    known = _unknown_set(unknown)
    return any(p.startswith(at + "/") for p in known) or _covers(known, at)


def _unknown_set(pointers: Sequence[str]) -> List[str]:
    return [p if p == "" or p.startswith("/") else _name_token(p) for p in pointers]


def _covers(unknown: Sequence[str], at: str) -> bool:
    return any(at == p or at.startswith(p + "/") for p in unknown)


def _without(tree: Any, unknown: Sequence[str], at: str = "") -> Any:
    if isinstance(tree, dict):
        return {k: _without(v, unknown, at + _name_token(k)) for k, v in tree.items()
                if not _covers(unknown, at + _name_token(k))}
    if isinstance(tree, list):
        return [None if _covers(unknown, f"{at}/{i}") else _without(v, unknown, f"{at}/{i}")
                for i, v in enumerate(tree)]
    return tree


# ---- schemas -------------------------------------------------------------------------------------------------------

class Field:
    """What an annotation says of a field beside its type: Annotated[str, Field(doc="Name of the city", min=1)].

    The default is the dataclass's own. On a list, enum, pattern, format and secret are said of its items, min and
    max of its length; of a text min and max are its length."""

    def __init__(self, doc: str = "", *, name: str = "", min: Optional[Union[int, float]] = None,
                 max: Optional[Union[int, float]] = None, format: str = "", pattern: str = "",
                 enum: Optional[Sequence[Any]] = None, secret: bool = False, example: Any = None) -> None:
        self.doc, self.name, self.min, self.max, self.format = doc, name, min, max, format
        self.pattern, self.enum, self.secret, self.example = pattern, enum, secret, example


@dataclasses.dataclass
class Blob:
    """Refers to a large value, which the host keeps: a download, an export, a dump. As a field of an input it is one
    that another step gave, of an output one that this call has finished or was given. What it holds is read and written
    by Call.open_blob and Call.new_blob, in parts: neither host nor plugin ever has it in memory."""

    digest: str  # "sha256:" and the SHA-256 of the content in hex
    size: int  # bytes
    media_type: str = ""
    name: str = ""  # of a file, for people


@dataclasses.dataclass
class NoInput:
    """The input of an action that takes none."""


class _Schema:
    """The part of JSON Schema 2020-12 that flowrun speaks."""

    def __init__(self, *types: str) -> None:
        self.types: List[str] = list(types)  # empty = any value
        self.format = self.encoding = self.doc = self.pattern = ""
        self.matcher: Optional["re.Pattern[str]"] = None
        self.enum: Optional[List[str]] = None  # as JSON
        self.minimum: Optional[str] = None
        self.maximum: Optional[str] = None
        self.min_length: Optional[int] = None
        self.max_length: Optional[int] = None
        self.min_items: Optional[int] = None
        self.max_items: Optional[int] = None
        self.default: Optional[str] = None  # as JSON
        self.secret = self.blob = False
        self.examples: List[str] = []  # as JSON
        self.items: Optional[_Schema] = None
        self.properties: Dict[str, _Schema] = {}
        self.required: List[str] = []
        self.closed = False
        self.additional: Optional[_Schema] = None

    def copy(self) -> "_Schema":
        changed = _Schema()
        changed.__dict__.update(self.__dict__)
        changed.types = list(self.types)
        return changed

    def takes(self, json_type: str) -> bool:
        return not self.types or json_type in self.types

    def allows(self, value: Any) -> bool:
        if isinstance(value, _Digits):
            return self.takes("number") or self.takes("integer") and bool(_INT.match(value.text))
        return self.takes(_json_type(value))

    def member(self, name: str) -> Optional["_Schema"]:
        return self.properties.get(name, self.additional)

    def or_null(self) -> "_Schema":
        if self.takes("null"):
            return self
        changed = self.copy()
        changed.types.append("null")
        return changed

    def defaults(self) -> Dict[str, str]:
        """The default of each field that has one, as JSON, and of each object that may not be null those inside of it."""
        filled = {}
        for name, field in self.properties.items():
            inner = {} if field.default is not None or field.takes("null") else field.defaults()
            if field.default is not None:
                filled[name] = field.default
            elif inner:
                filled[name] = "{" + ",".join(f"{dumps(k)}:{v}" for k, v in inner.items()) + "}"
        return filled

    def has_secrets(self) -> bool:
        inner = [self.items, self.additional, *self.properties.values()]
        return self.secret or any(s is not None and s.has_secrets() for s in inner)

    def json(self) -> str:
        """The schema as deterministic bytes, its properties in the order of the dataclass."""
        parts: List[Tuple[str, Optional[str]]] = [
            ("type", None if not self.types else dumps(self.types[0] if len(self.types) == 1 else self.types)),
            ("format", _text(self.format) if self.format else None),
            ("contentEncoding", _text(self.encoding) if self.encoding else None),
            ("enum", "[" + ",".join(self.enum) + "]" if self.enum else None),
            ("description", _text(self.doc) if self.doc else None),
            ("pattern", _text(self.pattern) if self.pattern else None),
            ("minimum", self.minimum), ("maximum", self.maximum),
            ("minLength", _number_or_none(self.min_length)), ("maxLength", _number_or_none(self.max_length)),
            ("minItems", _number_or_none(self.min_items)), ("maxItems", _number_or_none(self.max_items)),
            ("default", self.default),
            ("writeOnly", "true" if self.secret else None),
            ("x-flowrun-blob", "true" if self.blob else None),
            ("examples", "[" + ",".join(self.examples) + "]" if self.examples else None),
            ("items", self.items.json() if self.items else None),
            ("properties", "{" + ",".join(_text(k) + ":" + v.json() for k, v in self.properties.items()) + "}"
             if self.properties else None),
            ("required", dumps(self.required) if self.required else None),
            ("additionalProperties", "false" if self.closed else self.additional.json() if self.additional else None),
        ]
        return "{" + ",".join(f'"{name}":{value}' for name, value in parts if value is not None) + "}"

    def walk_secrets(self, tree: Any, at: str, found: Callable[[str, Any], None]) -> None:
        """Calls found for every value that stands at a secret field."""
        if tree is None or not self.has_secrets():
            return
        if self.secret:
            found(at, tree)
        elif isinstance(tree, list) and self.items:
            for i, item in enumerate(tree):
                self.items.walk_secrets(item, f"{at}/{i}", found)
        elif isinstance(tree, dict):
            for name in sorted(tree):
                inner = self.member(name)
                if inner:
                    inner.walk_secrets(tree[name], at + _name_token(name), found)

    def secrets_in(self, document: str) -> List[Tuple[str, Any]]:
        found: List[Tuple[str, Any]] = []
        if self.has_secrets():
            try:
                self.walk_secrets(_tree(document), "", lambda at, v: found.append((at, v)))
            except (ValueError, RecursionError):
                pass  # no JSON: the check says so
        return found


def _number_or_none(n: Optional[int]) -> Optional[str]:
    return None if n is None else str(n)


def _json_type(value: Any) -> str:
    if value is None:
        return "null"
    for python, name in ((bool, "boolean"), (str, "string"), (_Digits, "number"), (list, "array")):
        if isinstance(value, python):
            return name
    return "object"


class _Held(typing.NamedTuple):
    """One field of a dataclass, as JSON has it."""

    name: str
    attribute: str
    type: Any
    about: Field
    default: Any  # dataclasses.MISSING = there is none
    factory: Any
    optional: bool  # None is its default: it is left out


@functools.lru_cache(maxsize=None)
def _fields(of: Any) -> Tuple[_Held, ...]:
    hints = typing.get_type_hints(of, include_extras=True)
    held = []
    for f in dataclasses.fields(of):
        kind, about = _annotation(hints[f.name])
        held.append(_Held(about.name or f.name, f.name, kind, about, f.default, f.default_factory, f.default is None))
    return tuple(held)


def _annotation(hint: Any) -> Tuple[Any, Field]:
    about = Field()
    while typing.get_origin(hint) is typing.Annotated:
        for extra in typing.get_args(hint)[1:]:
            about = extra if isinstance(extra, Field) else about
        hint = typing.get_args(hint)[0]
    return hint, about


def _union(kind: Any) -> Tuple[List[Any], bool]:
    """The kinds of a union without None, and whether None is one."""
    if typing.get_origin(kind) is Union or type(kind).__name__ == "UnionType":
        args = typing.get_args(kind)
        return [a for a in args if a is not type(None)], type(None) in args
    return [kind], False


class _Reader:
    """Reads schemas from annotations. Closed objects are those of inputs and configs: no other names, defaults make
    optional. Objects of outputs are open: what is not optional is there."""

    def __init__(self, closed: bool) -> None:
        self.closed = closed
        self.open: List[Any] = []  # dataclasses that are being read, to end recursion

    def read(self, kind: Any) -> _Schema:
        kind, about = _annotation(kind)
        kinds, null = _union(kind)
        if len(kinds) == 1:
            schema = self.one(kinds[0])
        else:
            schema = _Schema()
            for other in kinds:
                inner = self.one(other)
                if not set(inner.types) <= {"string", "integer", "number", "boolean"} or inner.enum or inner.format:
                    raise TypeError(f"{kind} has no schema: a union is of text, numbers and booleans")
                schema.types += [t for t in inner.types if t not in schema.types]
        if null:
            schema = schema.or_null()
        return self.say(schema, about)

    def one(self, kind: Any) -> _Schema:
        scalars = {str: "string", bool: "boolean", int: "integer", float: "number", decimal.Decimal: "number"}
        if kind in (Any, object, Value):
            return _Schema()
        if kind is Object:
            return _Schema("object")
        if kind is Blob:
            schema = _Schema("object")
            schema.blob = True
            return schema
        if isinstance(kind, type) and kind in scalars:
            return _Schema(scalars[kind])
        if kind in (datetime.datetime, datetime.date, bytes):
            schema = _Schema("string")
            schema.format = {datetime.datetime: "date-time", datetime.date: "date"}.get(kind, "")
            schema.encoding = "base64" if kind is bytes else ""
            return schema
        if dataclasses.is_dataclass(kind):
            return self.dataclass(kind)
        if isinstance(kind, type) and issubclass(kind, enum.Enum):
            return self.words([e.value for e in kind])
        return self.generic(kind)

    def generic(self, kind: Any) -> _Schema:
        origin, args = typing.get_origin(kind) or kind, typing.get_args(kind)
        if origin is typing.Literal:
            return self.words(list(args))
        if origin in (list, tuple, Sequence) or origin is __import__("collections.abc").abc.Sequence:
            if origin is tuple and (len(args) != 2 or args[1] is not Ellipsis):
                raise TypeError(f"{kind} has no schema: use list")
            schema = _Schema("array")
            schema.items = self.read(args[0]) if args else _Schema()
            return schema
        if isinstance(origin, type) and issubclass(origin, Mapping):
            if args and args[0] is not str:
                raise TypeError(f"{kind}: the keys of a dict must be str")
            schema = _Schema("object")
            schema.additional = self.read(args[1]) if args else _Schema()
            return schema
        raise TypeError(f"{kind} has no JSON form")

    def words(self, values: List[Any]) -> _Schema:
        types = {_json_type(v if not isinstance(v, int) or isinstance(v, bool) else _Digits("0")) for v in values}
        if len(types) != 1 or not types <= {"string", "number"}:
            raise TypeError(f"{values}: the words of a Literal or an Enum are all text, or all integers")
        schema = _Schema("string" if types == {"string"} else "integer")
        schema.enum = [dumps(v) for v in values]
        return schema

    def dataclass(self, kind: Any) -> _Schema:
        if kind in self.open:
            return _Schema()  # a type inside itself: any value from here on
        self.open.append(kind)
        schema = _Schema("object")
        schema.closed = self.closed
        for f in _fields(kind):
            try:
                inner = self.field(f)
            except (TypeError, ValueError) as err:
                raise TypeError(f"field {f.attribute}: {err}") from None
            if f.name in schema.properties:
                raise TypeError(f"field {f.attribute}: the name {f.name!r} is used twice")
            schema.properties[f.name] = inner
            absent = f.optional or self.closed and _union(f.type)[1] or inner.default is not None
            if not absent:
                schema.required.append(f.name)
        self.open.pop()
        return schema

    def field(self, f: _Held) -> _Schema:
        schema = self.read(f.type)
        if f.optional:
            schema = schema.or_null()
        schema = self.say(schema, f.about)
        if self.closed and not f.optional:
            default = f.factory() if f.factory is not dataclasses.MISSING else f.default
            if default is not dataclasses.MISSING:
                schema.default = self.fitting(schema, "default", default)
        if f.about.example is not None:
            schema.examples = [self.fitting(schema, "example", f.about.example)]
        return schema

    @staticmethod
    def fitting(schema: _Schema, what: str, value: Any) -> str:
        document = dumps(value)
        problem = _first_error(_check(document, schema, ())[1])
        if problem:
            raise TypeError(f"{what} {value!r}: {problem.message}")
        return document

    def say(self, base: _Schema, about: Field) -> _Schema:
        """The schema of a field with what its annotation says."""
        schema = base.copy()
        schema.doc, schema.secret = about.doc or base.doc, about.secret or base.secret
        word = schema
        if schema.types[:1] == ["array"] and schema.items:
            word = schema.items = schema.items.copy()
        is_text = word.types[:1] == ["string"]
        if about.format:
            if not is_text:
                raise TypeError("format is for text")
            word.format = about.format
        if about.pattern:
            if not is_text:
                raise TypeError("pattern is for text")
            word.pattern, word.matcher = about.pattern, _compile(about.pattern)
        if about.enum is not None:
            word.enum = [dumps(v) for v in about.enum]
        if word.enum and len(word.types) > 1 and "null" in word.types and "null" not in word.enum:
            word.enum = [*word.enum, "null"]
        for bound, n in (("min", about.min), ("max", about.max)):
            if n is not None:
                self.bound(schema, bound, n)
        return schema

    @staticmethod
    def bound(schema: _Schema, bound: str, n: Union[int, float]) -> None:
        kind = schema.types[0] if schema.types else ""
        if kind in ("integer", "number"):
            setattr(schema, bound + "imum", dumps(n))
            return
        if kind not in ("string", "array"):
            raise TypeError(f"{bound} is for numbers, text and lists")
        if not isinstance(n, int) or n < 0:
            raise TypeError(f"{bound}={n} is no length")
        setattr(schema, bound + ("_length" if kind == "string" else "_items"), n)


def _compile(pattern: str) -> "re.Pattern[str]":
    """Compiles a pattern as RE2 reads it: ASCII classes, $ is the end of the text; what RE2 has not is refused."""
    out, at, inside = [], 0, False
    while at < len(pattern):
        ch, two = pattern[at], pattern[at:at + 2]
        if ch == "\\":
            if len(two) == 2 and (two[1] in "123456789pPkC"):
                raise TypeError(f"pattern {pattern!r}: {two} is not supported")
            out.append("\\Z" if two == "\\z" else two)
            at += 2
            continue
        if not inside and two == "(?" and pattern[at + 2:at + 3] in ("=", "!", "<", "(", "#", ">"):
            raise TypeError(f"pattern {pattern!r}: {pattern[at:at + 3]} is not supported")
        if ch == "[" and not inside:
            inside = True
            head = re.match(r"\[\^?\]?", pattern[at:])
            taken = head.group() if head else ch
            out.append(taken)
            at += len(taken)
            continue
        inside = inside and ch != "]"
        out.append("\\Z" if ch == "$" and not inside else ch)
        at += 1
    try:
        return re.compile("".join(out), re.ASCII)
    except re.error as err:
        raise TypeError(f"pattern {pattern!r}: {err}") from None


def _parse_schema(raw: Union[str, bytes, Mapping[str, Any]]) -> Tuple[_Schema, str]:
    """Reads a JSON Schema that an author wrote; returns it with its text."""
    document = raw.decode() if isinstance(raw, bytes) else raw if isinstance(raw, str) else dumps(raw)
    tree = json.loads(document, parse_float=Number)
    return _SchemaReader(tree).read(tree), document


_MAX_TYPES = 20_000
"""The types of one schema, as the host bounds them: references can double at every level."""


class _SchemaReader:
    """Reads one document and what references into it point at."""

    def __init__(self, root: Any) -> None:
        self.root, self.open, self.cuts, self.made = root, cast(List[str], []), 0, 0
        self.known: Dict[str, Tuple[_Schema, int]] = {}

    def read(self, text: Any) -> _Schema:
        self.count(1)
        if isinstance(text, dict) and text.get("$ref"):
            return self.follow(text)
        return _schema_of(text, self.read)

    def count(self, types: int) -> None:
        self.made += types
        if self.made > _MAX_TYPES:
            raise TypeError(f"the schema is too large: more than {_MAX_TYPES} types")

    def follow(self, text: Dict[str, Any]) -> _Schema:
        """What a reference points at, with the words beside it. Inside of what it points at it stands for any value."""
        ref = text["$ref"]
        if ref in self.open:
            self.cuts += 1
            return _Schema()
        own = self.target(ref).copy()
        own.doc = text.get("description", own.doc)
        own.default = dumps(text["default"]) if "default" in text else own.default
        own.secret = own.secret or bool(text.get("writeOnly"))
        return own.or_null() if text.get("nullable") else own

    def target(self, ref: str) -> _Schema:
        if ref in self.known:
            schema, made = self.known[ref]
            self.count(made)
            return schema
        made, cuts = self.made, self.cuts
        inside = self.look_up(ref)
        self.open.append(ref)
        schema = self.read(inside)
        self.open.pop()
        if self.cuts == cuts:
            self.known[ref] = schema, self.made - made
        return schema

    def look_up(self, ref: str) -> Any:
        """What stands at a JSON pointer in the document (RFC 6901, as a fragment)."""
        pointer = urllib.parse.unquote(ref[1:])
        if not ref.startswith("#") or pointer and not pointer.startswith("/"):
            raise TypeError(f"the reference {shown(ref, 200)!r} is not one into the schema itself, such as #/$defs/name")
        at = self.root
        for token in pointer.split("/")[1:]:
            token = token.replace("~1", "/").replace("~0", "~")
            try:
                at = at[int(token)] if isinstance(at, list) else at[token]
            except (KeyError, IndexError, TypeError, ValueError):
                raise TypeError(f"the reference {shown(ref, 200)!r} points at nothing") from None
        return at


def _schema_of(text: Any, part: Callable[[Any], _Schema]) -> _Schema:
    if text is True:
        return _Schema()
    if not isinstance(text, dict):
        raise TypeError("a schema is an object")
    kind = text.get("type", [])
    schema = _Schema(*([kind] if isinstance(kind, str) else kind))
    for name in schema.types:
        if name not in ("string", "integer", "number", "boolean", "array", "object", "null"):
            raise TypeError(f"schema type {name!r} is not a JSON type")
    if text.get("nullable"):
        schema = schema.or_null()
    words = [text["const"]] if "const" in text else text.get("enum")
    schema.enum = None if words is None else [dumps(w) for w in words]
    schema.format, schema.doc, schema.secret = text.get("format", ""), text.get("description", ""), bool(text.get("writeOnly"))
    schema.blob = bool(text.get("x-flowrun-blob"))
    if text.get("pattern"):
        schema.pattern, schema.matcher = text["pattern"], _compile(text["pattern"])
    for word, attribute in (("minimum", "minimum"), ("maximum", "maximum")):
        setattr(schema, attribute, dumps(text[word]) if word in text else None)
    for word, attribute in (("minLength", "min_length"), ("maxLength", "max_length"), ("minItems", "min_items"), ("maxItems", "max_items")):
        setattr(schema, attribute, text.get(word))
    schema.default = dumps(text["default"]) if "default" in text else None
    schema.required = list(text.get("required", []))
    schema.properties = {name: part(inner) for name, inner in text.get("properties", {}).items()}
    schema.items = part(text["items"]) if "items" in text else None
    additional = text.get("additionalProperties", True)
    schema.closed = additional is False
    schema.additional = part(additional) if isinstance(additional, dict) else None
    return schema


# ---- checks of documents -------------------------------------------------------------------------------------------

def _check(document: str, schema: _Schema, unknown: Sequence[str]) -> Tuple[Any, List[Problem]]:
    """Compares a document with a schema; returns it read, with every problem."""
    try:
        tree = _tree(document)
    except (ValueError, RecursionError) as err:
        return None, [Problem("", f"is no JSON: {err}")]
    checker = _Checker(unknown)
    checker.value(tree, schema, "")
    return tree, checker.problems


class _Checker:
    def __init__(self, unknown: Sequence[str]) -> None:
        self.unknown, self.problems = unknown, cast(List[Problem], [])

    def report(self, at: str, summary: str, detail: str = "") -> None:
        self.problems.append(Problem(at, summary, detail))

    def value(self, value: Any, schema: Optional[_Schema], at: str) -> None:
        if schema is None or _covers(self.unknown, at):
            return
        if not schema.allows(value):
            self.report(at, f"must be {_describe(schema)}, is {_describe_value(value, schema)}", _quote_hint(value, schema))
        elif value is None:
            return
        elif schema.enum and dumps(value) not in schema.enum:
            self.no_word(value, schema, at)
        elif isinstance(value, _Digits):
            self.number(value.text, schema, at)
        elif isinstance(value, str):
            self.text(value, schema, at)
        elif isinstance(value, list):
            self.list(value, schema, at)
        elif isinstance(value, dict):
            self.object(value, schema, at)

    def object(self, value: Dict[str, Any], schema: _Schema, at: str) -> None:
        if schema.blob:
            if not isinstance(value.get("size"), _Digits) or not str(value.get("digest")).startswith("sha256:"):
                self.report(at, "must be a large value that another step gave")
            return
        for name, inner in schema.properties.items():
            here = at + _name_token(name)
            if name in value:
                self.value(value[name], inner, here)
            elif name in schema.required and not is_unknown(self.unknown, here):
                self.report(here, f"`{name}` is required")
        for name in sorted(value, key=lambda n: _clean(n).encode()):
            here = at + _name_token(name)
            if name in schema.properties:
                continue
            if not schema.closed:
                self.value(value[name], schema.additional, here)
                continue
            self.report(here, f"there is no field `{shown(name, 64)}`", _did_you_mean(name, schema.properties))

    def list(self, value: List[Any], schema: _Schema, at: str) -> None:
        if schema.min_items is not None and len(value) < schema.min_items:
            self.report(at, f"must have at least {_count(schema.min_items, 'element')}, has {len(value)}")
        if schema.max_items is not None and len(value) > schema.max_items:
            self.report(at, f"must have at most {_count(schema.max_items, 'element')}, has {len(value)}")
        for i, item in enumerate(value):
            self.value(item, schema.items, f"{at}/{i}")

    def text(self, value: str, schema: _Schema, at: str) -> None:
        size = len(value)
        if schema.min_length is not None and size < schema.min_length:
            if size == 0:
                self.report(at, "must not be empty")
            else:
                self.report(at, f"must have at least {_count(schema.min_length, 'character')}, has {size}")
        elif schema.max_length is not None and size > schema.max_length:
            self.report(at, f"must have at most {_count(schema.max_length, 'character')}, has {size}")
        elif schema.matcher and not schema.matcher.search(value):
            self.report(at, f"must match {schema.pattern}")
        wrong = _check_format(schema.format, value)
        if wrong:
            self.report(at, wrong)

    def number(self, value: str, schema: _Schema, at: str) -> None:
        if schema.minimum is not None and _less(value, schema.minimum):
            self.report(at, f"must be at least {schema.minimum}, is {value}")
        if schema.maximum is not None and _less(schema.maximum, value):
            self.report(at, f"must be at most {schema.maximum}, is {value}")

    def no_word(self, value: Any, schema: _Schema, at: str) -> None:
        allowed: List[str] = []
        texts: List[str] = []
        seen = set()
        for word in schema.enum or []:
            if word == "null":
                continue
            text = json.loads(word) if word.startswith('"') else word
            texts.append(text)
            if text.lower() not in seen:
                seen.add(text.lower())
                allowed.append(f"`{text}`")
        got, detail = _describe_value(value, schema), ""
        if isinstance(value, str) and not schema.secret:
            got = got[len("the text "):] if got.startswith("the text ") else got
            detail = _did_you_mean(value, texts)
        self.report(at, f"must be one of {', '.join(allowed)}; got {got}", detail)


def _less(a: str, b: str) -> bool:
    if _INT.match(a) and _INT.match(b) and len(a) < 1000 and len(b) < 1000:
        return int(a) < int(b)
    return float(a) < float(b)


def _describe(schema: _Schema) -> str:
    words = {"string": "text", "integer": "an integer", "number": "a number", "boolean": "true or false",
             "array": "a list", "object": "an object", "null": "null"}
    return " or ".join(words[t] for t in schema.types if t != "null" or len(schema.types) == 1)


def _type_name(value: Any) -> str:
    return {"null": "null", "string": "text", "boolean": "true or false", "number": "a number", "array": "a list",
            "object": "an object"}[_json_type(value)]


def _describe_value(value: Any, schema: _Schema) -> str:
    if isinstance(value, str):
        return "other text" if schema.has_secrets() else "the text " + _quote(_cut(_plain(value), 64))
    if isinstance(value, (bool, _Digits)):
        return "another value" if schema.secret else _cut(dumps(value), 64)
    return _type_name(value)


def _quote_hint(value: Any, schema: _Schema) -> str:
    if schema.secret or not schema.takes("string") or not isinstance(value, (bool, _Digits)):
        return ""
    return f'quote it: "{dumps(value)}"'


_TIME = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d{1,2}):(\d\d):(\d\d)(?:[.,]\d+)?(?:Z|[+-]([01]\d|2[0-4]):([0-5]\d))\Z", re.A)
_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)\Z", re.A)
_DURATION = re.compile(r"(?:(?:[0-9]+(?:ms|s|m|h|d))+|P(?:[0-9]+W|(?:[0-9]+D)?(?:T(?:[0-9]+H)?(?:[0-9]+M)?(?:[0-9]+(?:\.[0-9]+)?S)?)?))\Z")
_UUID = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\Z")


def _is_date(year: str, month: str, day: str) -> bool:
    return 1 <= int(month) <= 12 and 1 <= int(day) <= (calendar.monthrange(int(year) or 4, int(month))[1])


def _is_time(text: str) -> bool:
    found = _TIME.match(text)
    return bool(found) and _is_date(*found.groups()[:3]) and int(found[4]) < 24 and int(found[5]) < 60 and int(found[6]) < 60 if found else False


def _is_day(text: str) -> bool:
    found = _DATE.match(text)
    return bool(found and _is_date(*found.groups()))


def _is_absolute_url(text: str) -> bool:
    return bool(re.match(r"[a-zA-Z][a-zA-Z0-9+.-]*:", text)) and _URL.parse(text) is not None


def _is_address(text: str, version: int) -> bool:
    try:
        return "%" not in text and ipaddress.ip_address(text).version == version
    except ValueError:
        return False


_FORMATS: Dict[str, Tuple[Callable[[str], bool], str]] = {
    "date-time": (_is_time, "must be a time such as 2026-01-31T09:00:00Z"),
    "date": (_is_day, "must be a date such as 2026-01-31"),
    "duration": (lambda t: bool(_DURATION.match(t)) and t != "P", "must be a duration such as 30s, 6h or PT20M"),
    "uri": (_is_absolute_url, "must be an absolute URL"),
    "url": (_is_absolute_url, "must be an absolute URL"),
    "ipv4": (lambda t: _is_address(t, 4), "must be an IPv4 address"),
    "ipv6": (lambda t: _is_address(t, 6), "must be an IPv6 address"),
    "uuid": (lambda t: bool(_UUID.match(t)), "must be a UUID"),
}


def _check_format(name: str, text: str) -> str:
    fits, must = _FORMATS.get(name, (None, ""))
    return must if fits and not fits(text) else ""


# ---- documents into dataclasses ------------------------------------------------------------------------------------

class _Unfit(Exception):
    def __init__(self, at: str, summary: str) -> None:
        self.at, self.summary = at, summary


_EXACT_FLOATS = 1 << 53
"""From where on a float does not tell integers apart."""


def _read_alike(s: Optional[_Schema]) -> bool:
    """Whether a host refuses all that this schema refuses. It reads the same words; those are left out here of which the
    two make different use: a host compares numbers as floats and words by their value, and its patterns, times and other
    formats are another program's."""
    if s is None:
        return True
    kinds = [t for t in s.types if t != "null"]
    if s.pattern or s.format in _FORMATS:
        return False
    if len(kinds) != 1:
        words = (s.enum, s.minimum, s.maximum, s.min_length, s.max_length, s.min_items, s.max_items, s.items, s.additional)
        return not (s.properties or s.closed or s.blob) and all(w is None for w in words)
    for word in s.enum or []:
        if word == "null" and not s.takes("null"):
            return False
        if kinds[0] not in ("string", "boolean") and word != "null" and (kinds[0] != "integer" or not _INT.match(word) or word == "-0"):
            return False
    if any(bound is not None and abs(float(bound)) >= _EXACT_FLOATS for bound in (s.minimum, s.maximum)):
        return False
    return all(_read_alike(part) for part in (s.items, s.additional, *s.properties.values()))


def _takes_all(kind: Any, open: List[Any], raw: bool) -> bool:
    """Whether a type takes every value that fits the schema that is read from it, or, with raw, any schema. open are the
    dataclasses around."""
    kind, _ = _annotation(kind)
    kinds, _ = _union(kind)
    if kind in (Any, object, Value):
        return True
    if len(kinds) > 1:
        return not raw
    kind = kinds[0]
    origin, args = typing.get_origin(kind) or kind, typing.get_args(kind)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return all(_takes_all(arg, open, raw) for arg in args[1:])
    if raw:
        return False  # nothing says that another type takes all that the author's schema takes
    if kind in (Object, Blob, str, bool, int, float, decimal.Decimal) or origin is typing.Literal:
        return True
    if dataclasses.is_dataclass(kind):
        if kind in open or hasattr(kind, "__post_init__") or cast(Any, kind).__new__ is not object.__new__:
            return False
        return all(_takes_all(f.type, [*open, kind], raw) for f in _fields(cast(Any, kind)))
    if origin in (list, tuple, Sequence) or origin is __import__("collections.abc").abc.Sequence:
        return all(_takes_all(arg, open, raw) for arg in args if arg is not Ellipsis)
    return isinstance(kind, type) and issubclass(kind, enum.Enum)


def _decode_into(document: str, schema: _Schema, kind: Any, unknown: Sequence[str]) -> Tuple[Any, List[Problem]]:
    """Checks a document against a schema and decodes it, with the defaults filled in."""
    document = document if document.strip() else "{}"
    tree, problems = _check(document, schema, unknown)
    if _first_error(problems):
        return None, problems
    if unknown:
        document = dumps(_without(tree, unknown))
    try:
        return _decode(kind, document, schema, ""), problems
    except _Unfit as unfit:
        return None, [*problems, Problem(unfit.at, unfit.summary)]


def _decode(kind: Any, document: str, schema: Optional[_Schema], at: str) -> Any:
    """Decodes a document that is known to be JSON. Null and what is missing become what stands for nothing."""
    kind, _ = _annotation(kind)
    kinds, null = _union(kind)
    document = document.strip(" \t\r\n")
    if kind is Value or kind is Object:
        return kind(document.encode())
    if document == "null" and kind not in (Any, object):
        return None if null else _zero(kind)
    if len(kinds) > 1 or kind in (Any, object):
        return _loads(document)
    kind = kinds[0]
    if dataclasses.is_dataclass(kind):
        return _decode_dataclass(cast(Type[Any], kind), document, schema, at)
    origin, args = typing.get_origin(kind) or kind, typing.get_args(kind)
    if origin in (Value, Object):
        return origin(document.encode())
    if document[0] == "[" and args and origin is not typing.Literal:
        items = [_decode(args[0], e, schema.items if schema else None, f"{at}/{i}") for i, e in enumerate(_elements(document))]
        return tuple(items) if origin is tuple else items
    if document[0] == "{":
        inner = schema.additional if schema else None
        given = dict(members(document) or [])
        if schema and not at:  # an input that its author reads as a dict: what is missing of it
            given = {**schema.defaults(), **given}
        return {k: _decode(args[1] if args else Any, v, inner, at + _name_token(k)) for k, v in given.items()}
    return _decode_scalar(kind, document, at)


def _decode_dataclass(kind: Type[Any], document: str, schema: Optional[_Schema], at: str) -> Any:
    given = dict(members(document) or [])
    values: Dict[str, Any] = {}
    for f in _fields(cast(Any, kind)):
        inner = schema.properties.get(f.name) if schema else None
        if f.name in given:
            values[f.attribute] = _decode(f.type, given[f.name], inner, at + _name_token(f.name))
        elif inner is not None and inner.default is not None:
            values[f.attribute] = _decode(f.type, inner.default, inner, at)
        elif f.factory is not dataclasses.MISSING or f.default is not dataclasses.MISSING:
            continue
        else:
            values[f.attribute] = _zero(f.type)
    return kind(**values)


def _decode_scalar(kind: Any, document: str, at: str) -> Any:
    value = _loads(document)
    if kind is int and not isinstance(value, bool) and isinstance(value, (int, float)):
        whole = _whole(document)
        if whole is None:
            raise _Unfit(at, f"number {_cut(document, 57)} does not fit into int64")
        return whole
    if kind is float and isinstance(value, (int, float)):
        number = float(document)
        if number in (float("inf"), float("-inf")):
            raise _Unfit(at, f"number {_cut(document, 57)} does not fit into float64")
        return number
    if kind is decimal.Decimal:
        return decimal.Decimal(document)
    if kind is datetime.datetime:
        return _moment(value)
    if kind is datetime.date:
        return datetime.date.fromisoformat(value)
    if kind is bytes:
        try:
            return base64.b64decode(value, validate=True)
        except ValueError:
            raise _Unfit(at, "is no base64") from None
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return kind(value)
    return value


def _moment(text: str) -> datetime.datetime:
    text = text.replace(",", ".").replace("Z", "+00:00")
    found = re.match(r"(\d{4}-\d\d-\d\d)T(\d{1,2})(:\d\d:\d\d)(\.\d+)?(.*)", text)
    if not found:
        return datetime.datetime.fromisoformat(text)
    fraction = ((found[4] or ".") + "000000")[:7]
    return datetime.datetime.fromisoformat(f"{found[1]}T{found[2]:>02}{found[3]}{fraction}{found[5]}")


def _zero(kind: Any) -> Any:
    """What stands for nothing: of a missing field in an answer, and of an input that is not known yet."""
    kind, _ = _annotation(kind)
    kinds, null = _union(kind)
    if null or kind in (Any, object):
        return None
    kind = kinds[0]
    if kind is Value or kind is Object:
        return kind(b"")
    if dataclasses.is_dataclass(kind):
        return _decode_dataclass(cast(Type[Any], kind), "{}", None, "")
    origin = typing.get_origin(kind) or kind
    if origin is typing.Literal:
        return type(typing.get_args(kind)[0])()
    if origin is datetime.datetime:
        return datetime.datetime(1, 1, 1, tzinfo=datetime.timezone.utc)
    if origin is datetime.date:
        return datetime.date(1, 1, 1)
    if isinstance(origin, type) and issubclass(origin, enum.Enum):
        return list(cast(Any, origin))[0]
    if isinstance(origin, type) and not inspect.isabstract(origin):
        return origin()
    return {} if isinstance(origin, type) and issubclass(origin, Mapping) else []


# ---- masks ---------------------------------------------------------------------------------------------------------

MASK = "[redacted]"
_MIN_MASKED = 6  # shorter secrets would mask ordinary words


class _Masks:
    """The clear secrets that a call knows. It grows while the call learns them, such as a token."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.secrets: List[str] = []
        self.pattern: Optional["re.Pattern[str]"] = None
        self.longest = 0

    def add(self, *secrets: str) -> None:
        fresh = [s for s in secrets if len(s.encode("utf-8", "replace")) >= _MIN_MASKED]
        with self.lock:
            fresh = [s for s in fresh if s not in self.secrets]
            if not fresh:
                return
            self.secrets = sorted([*self.secrets, *fresh], key=len, reverse=True)
            forms: List[str] = []
            for secret in self.secrets:
                forms += [secret, *_encoded_forms(secret)]
            self.longest = max(len(f) for f in forms)
            self.pattern = re.compile("|".join(re.escape(f) for f in dict.fromkeys(forms)))

    def text(self, text: str) -> str:
        pattern = self.pattern
        return pattern.sub(MASK, text) if pattern and text else text

    def start(self, text: str, n: int) -> str:
        """The masked start of a long text; it ends before a secret that the cut went through."""
        if not self.pattern or len(text) <= n + self.longest:
            return self.text(text)
        masked = self.text(text[:n + self.longest])
        return masked[:max(len(masked) - self.longest, 0)]

    def data(self, value: Any) -> Any:
        """The JSON form of a value, masked; None where it has none."""
        try:
            return json.loads(self.text(dumps(value)))
        except (TypeError, ValueError):
            return None


def _encoded_forms(secret: str) -> List[str]:
    """A secret as URLs, JSON, pages, hex and base64 write it."""
    raw = secret.encode("utf-8", "replace")
    escaped = secret.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&#34;").replace("'", "&#39;")
    forms = [urllib.parse.quote_plus(raw, safe="~"), urllib.parse.quote(raw, safe="$&+=:@~"), _text(secret)[1:-1],
             json.dumps(_clean(secret))[1:-1], raw.hex(), escaped, escaped.replace("+", "&#43;"), html.escape(secret)]
    for shift in range(3):
        text = base64.b64encode(bytes(shift) + raw).decode().rstrip("=")
        text = text[(shift * 8 + 5) // 6:(shift + len(raw)) * 8 // 6]
        if len(text) >= _MIN_MASKED:
            forms += [text, text.replace("+", "-").replace("/", "_")]
    return forms


def _leaves(tree: Any) -> List[str]:
    if isinstance(tree, str):
        return [tree]
    if isinstance(tree, _Digits):
        return [tree.text]
    inner = tree if isinstance(tree, list) else tree.values() if isinstance(tree, dict) else []
    return [leaf for item in inner for leaf in _leaves(item)]


def _secret_values(schema: _Schema, document: str) -> List[str]:
    return [leaf for _, value in schema.secrets_in(document or "{}") for leaf in _leaves(value)]


# ---- URLs and origins ----------------------------------------------------------------------------------------------

class _URL(typing.NamedTuple):
    """An absolute or relative URL in its parts, escaped as written."""

    scheme: str
    user: Optional[str]
    host: str  # without brackets
    port: str
    path: str
    query: Optional[str]
    fragment: Optional[str]

    @staticmethod
    def parse(text: str) -> Optional["_URL"]:
        if re.search(r"[\x00-\x1f\x7f]", text) or text.startswith(" ") or re.search(r"%(?![0-9a-fA-F]{2})", text.partition("?")[0]):
            return None
        try:
            parts = urllib.parse.urlsplit(text)
        except ValueError:
            return None
        user, at, hostport = parts.netloc.rpartition("@")
        found = re.search(r":([0-9]*)\Z", hostport)
        port = found[1] if found else ""
        if not found and ":" in hostport.rpartition("]")[2]:
            return None
        if re.search(r"[ <>\"{}|\\^`]", hostport) or (not hostport.startswith("[") and hostport.count(":") > 1):
            return None
        host = parts.hostname or ""
        if not hostport.startswith("["):
            host = hostport.partition(":")[0]
        rest = text.partition("#")[0]
        return _URL(parts.scheme.lower(), user if at else None, host, port, parts.path,
                    parts.query if "?" in rest else None, parts.fragment if "#" in text else None)

    @property
    def hostport(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}" if self.port else host

    @property
    def escaped_path(self) -> str:
        return urllib.parse.quote(self.path, safe="%/:@!$&'()*+,;=-._~[]")

    @property
    def origin(self) -> Optional["_Origin"]:
        port = {"http": "80", "https": "443"}.get(self.scheme)
        if port is None or not self.host or len(self.port) > 9 or int(self.port or 0) > 65535:
            return None
        host = self.host
        try:
            host = str(ipaddress.ip_address(host))
        except ValueError:
            host = "".join(ch.lower() if ch.isascii() else ch for ch in host)
        return _Origin(self.scheme, host, str(int(self.port)) if self.port else port)

    def text(self) -> str:
        query = "" if self.query is None else "?" + self.query
        return f"{self.scheme}://{self.hostport}{self.escaped_path}{query}"

    def join(self, reference: str) -> Optional["_URL"]:
        there = _URL.parse(reference)
        if there is None:
            return None
        return _URL.parse(urllib.parse.urljoin(self.text(), reference))

    def redacted(self) -> str:
        """The URL for messages: without user, fragment, and values of parameters that may be secret."""
        shown_ = f"{self.scheme}://{self.hostport}{self.escaped_path}"
        if not self.query:
            return shown_
        pairs = sorted(urllib.parse.parse_qsl(self.query, keep_blank_values=True), key=lambda p: p[0])
        return shown_ + "?" + "&".join(
            f"{urllib.parse.quote_plus(k, safe='~')}={MASK if _is_secret_param(k) else urllib.parse.quote_plus(v, safe='~')}"
            for k, v in pairs)


class _Origin(typing.NamedTuple):
    """Scheme, host and port: what a credential belongs to."""

    scheme: str
    host: str
    port: str

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        plain = {"http": "80", "https": "443"}[self.scheme] == self.port
        return f"{self.scheme}://{host}" if plain else f"{self.scheme}://{host}:{self.port}"

    def is_loopback(self) -> bool:
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"


_SECRET_PARAMS = ("token", "secret", "password", "passwd", "apikey", "key", "signature", "sig", "code", "auth",
                  "credential", "session")


def _is_secret_param(name: str) -> bool:
    return name.lower().replace("-", "").replace("_", "").endswith(_SECRET_PARAMS)


def _is_credential_header(name: str) -> bool:
    if name.lower() in ("authorization", "proxy-authorization", "cookie"):
        return True
    return name.lower() != "idempotency-key" and _is_secret_param(name)


def _parse_grant(text: str) -> List[_Origin]:
    """Reads what hosts take: a URL, of which the origin counts, or host or host:port, which mean https, and on this
    machine http too."""
    if "://" in text:
        url = _URL.parse(text)
        if url is None or url.user is not None:
            raise ValueError("is no URL of a host that a credential may go to")
        if url.origin is None:
            raise ValueError("must start with http:// or https:// and name a host")
        return [url.origin]
    host = f"[{text}]" if _is_address(text, 6) else text
    url = _URL.parse("https://" + host)
    if url is None or url.user is not None or url.path or url.query is not None or url.fragment is not None or re.search("[*% ]", host):
        raise ValueError("must be a host, host:port or a URL, without wildcards")
    if url.origin is None:
        raise ValueError("names no host")
    grants = [url.origin]
    if url.origin.is_loopback():
        grants.append(_Origin("http", url.origin.host, url.port or "80"))
    return grants


def _is_credential_address(secret: str) -> bool:
    url = _URL.parse(secret)
    return url is not None and url.origin is not None


def path(*segments: str) -> str:
    """Joins segments to a path, each escaped: path("whois", domain). It refuses "", "." and ".."."""
    return "".join("/" + path_escape(s) for s in segments)


def path_escape(segment: str) -> str:
    """Escapes one segment of a path; refuses "", "." and "..", which would lead to another resource."""
    if segment == "":
        raise invalid("", "must not be empty")
    if segment in (".", ".."):
        raise invalid("", f'must not be "{segment}"')
    return urllib.parse.quote(_clean(segment), safe="$&+=:@~")


def _has_dot_segment(escaped: str) -> bool:
    return any(urllib.parse.unquote(s) in (".", "..") for s in escaped.split("/"))


def check_base_url(text: str) -> str:
    """The base URL without a trailing slash; a ValueError says what is wrong with it."""
    url = _URL.parse(text)
    if url is None:
        raise ValueError("is no URL")
    for wrong, says in ((url.scheme not in ("http", "https"), "must start with http:// or https://"),
                        (not url.host, "has no host"),
                        (url.user is not None, "must not hold a user or a password"),
                        (url.query is not None, "must not have a query"),
                        ("#" in text, "must not have a fragment"),
                        (_has_dot_segment(url.path), "must not have . or .. in its path")):
        if wrong:
            raise ValueError(says)
    return text.rstrip("/")


QueryValue = Union[None, str, int, float, bool, datetime.datetime, Sequence[Union[str, int]]]
Query = Mapping[str, QueryValue]


def _pairs(query: Optional[Query]) -> List[Tuple[str, str]]:
    """The parameters that were given; absent ones (None) are not sent."""
    found: List[Tuple[str, str]] = []
    for name in sorted(query or {}):
        value = (query or {})[name]
        for item in value if isinstance(value, (list, tuple)) else [value]:
            if item is not None:
                text = _time_text(item) if isinstance(item, datetime.datetime) else item if isinstance(item, str) else dumps(item)
                found.append((name, text))
    return found


def _encode_query(query: Optional[Query]) -> str:
    return "&".join(f"{urllib.parse.quote_plus(_clean(k), safe='~')}={urllib.parse.quote_plus(_clean(v), safe='~')}" for k, v in _pairs(query))


# ---- HTTP ----------------------------------------------------------------------------------------------------------

@dataclasses.dataclass
class HTTPSettings:
    """The settings that every HTTP service's config has: make it the base of the config. base_url is required unless
    the plugin has one."""

    base_url: typing.Annotated[str, Field("Root URL of the service", format="uri", example="https://api.example.com")]
    ca_file: typing.Annotated[Optional[str], Field("PEM file with certificates to trust besides the system's")] = None
    proxy: typing.Annotated[Optional[str], Field("URL of an HTTP proxy; by default the environment's proxy variables count")] = None
    user_agent: typing.Annotated[Optional[str], Field("User-Agent to send instead of the plugin's own")] = None


@dataclasses.dataclass
class TokenFrom:
    """Names the connection that a token comes from."""

    connection: typing.Annotated[str, Field("Name of a connection whose plugin gives tokens, such as auth", min=1)]


@dataclasses.dataclass
class TokenSettings:
    """The settings of a service that takes an access token: the second base of a config, beside HTTPSettings. The
    token is given itself, or comes from another connection."""

    token: typing.Annotated[Optional[str], Field("Access token", secret=True)] = None
    token_from: typing.Annotated[Optional[TokenFrom], Field("Take the access token from another connection instead")] = None


@dataclasses.dataclass
class Request:
    """One request. The path is relative to base_url and escaped (see path)."""

    path: str = ""
    method: str = ""  # default GET, with a body POST
    query: Optional[Query] = None
    headers: Mapping[str, str] = dataclasses.field(default_factory=dict)
    # Sent as it stands instead of path, below no base_url. At an origin that is not granted the request is sent
    # without the headers of the client, and refused when it has another credential.
    url: str = ""
    secret_query: Sequence[str] = ()  # parameters of query whose values are never shown
    json: Any = None  # body, encoded; None = no JSON
    form: Optional[Query] = None  # body of a form, when json is None
    body: Optional[bytes] = None  # body as it is, when neither is given
    content_type: str = ""  # of body
    accept: Sequence[int] = ()  # statuses besides 2xx that are answers, not failures
    classify: Optional[Callable[["Response"], Optional[Exception]]] = None  # asked before the status
    max_body: int = 0  # bytes, 0 = DEFAULT_MAX_BODY, at most HARD_MAX_BODY


def code_of_status(status: int) -> Code:
    """Maps an HTTP status to a code: for services that send a status inside the body too."""
    known = {401: Code.UNAUTHORIZED, 403: Code.FORBIDDEN, 404: Code.NOT_FOUND, 410: Code.NOT_FOUND, 409: Code.CONFLICT,
             412: Code.CONFLICT, 408: Code.TIMEOUT, 429: Code.RATE_LIMITED, 402: Code.QUOTA_EXHAUSTED,
             405: Code.UNSUPPORTED, 501: Code.UNSUPPORTED, 425: Code.UNAVAILABLE, 407: Code.UNAVAILABLE}
    if status in known:
        return known[status]
    return Code.INVALID if 400 <= status < 500 else Code.UNAVAILABLE if 500 <= status < 600 else Code.UNEXPECTED_RESPONSE


def _status_text(status: int) -> str:
    import http
    own = {413: "Request Entity Too Large", 414: "Request URI Too Long", 416: "Requested Range Not Satisfiable",
           418: "I'm a teapot", 422: "Unprocessable Entity", 203: "Non-Authoritative Information"}
    try:
        return own.get(status) or http.HTTPStatus(status).phrase
    except ValueError:
        return ""


class Headers:
    """The headers of an answer, by any spelling of their names."""

    def __init__(self, pairs: Sequence[Tuple[str, str]]) -> None:
        self.pairs = list(pairs)

    def get(self, name: str) -> str:
        return next(iter(self.all(name)), "")

    def all(self, name: str) -> List[str]:
        return [v for k, v in self.pairs if k.lower() == name.lower()]


_MAX_RETRY_AFTER = 24 * 3600.0


def _retry_after(headers: Headers, now: float) -> float:
    """Reads Retry-After as seconds or as a date, which is compared with the answer's own. 0 = absent, not readable."""
    text = headers.get("Retry-After").strip()
    if re.match(r"[-+]?[0-9.]", text):
        try:
            seconds = float(text.replace("_", "?"))
            return min(seconds, _MAX_RETRY_AFTER) if seconds > 0 else 0.0
        except ValueError:
            pass
    at, date = _http_time(text), _http_time(headers.get("Date"))
    if at is None:
        return 0.0
    return min(max(at - (now if date is None else date), 0.0), _MAX_RETRY_AFTER)


def _http_time(text: str) -> Optional[float]:
    for form in ("%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT", "%a %b %d %H:%M:%S %Y"):
        try:
            return float(calendar.timegm(time.strptime(text, form)))
        except ValueError:
            continue
    return None


class Response:
    """A whole answer. Its body is already read, at most max_body bytes."""

    def __init__(self, core: "_Core", method: str, url: _URL, status: int, headers: Headers, body: bytes) -> None:
        self.status, self.headers, self.body = status, headers, body
        self._core, self._method, self._url = core, method, url

    def fail(self, code: Code, message: str) -> Error:
        """Makes an error about this answer: with its status, what Retry-After says, and an excerpt of the body."""
        details: Dict[str, Any] = {"method": self._method, "url": self._url.redacted()}
        excerpt = self.excerpt()
        if excerpt:
            details["body"] = excerpt
        refusal = 400 <= self.status < 500 and self.status != 408
        return Error(code, f"{self._method} {self._url.hostport}{self._url.escaped_path}: {message}", http_status=self.status,
                     retry_after=_retry_after(self.headers, self._core.now()), details=details,
                     applied=Applied.NOT_APPLIED if refusal else Applied.UNKNOWN)

    def excerpt(self) -> str:
        """The start of the body for a message: at most 512 bytes, on one line, secrets masked."""
        return _cut(_plain(self._core.masks.start(self.body[:64 << 10].decode("utf-8", "surrogateescape"), 2048)), 512)

    def shown(self, text: str, limit: int) -> str:
        """Makes a text of the service fit for an error: on one line, secrets of this call masked."""
        return _cut(_plain(self._core.masks.text(text)), limit).strip()

    def status_error(self) -> Error:
        """Classifies the answer by its status alone, with the service's own words."""
        message, reason = self.words()
        text = " ".join(filter(None, [str(self.status), _status_text(self.status)]))
        message = message or self._plain_words()
        error = self.fail(code_of_status(self.status), f"{text}: {message}" if message else text).with_reason(reason)
        if 300 <= self.status < 400:
            error.hint = self._redirect_hint()
        return error

    def _redirect_hint(self) -> str:
        url = _URL.parse(self.headers.get("Location"))
        if url is None or not url.host:
            return "the service redirects and the redirect was not followed"
        where = str(url.origin) if url.origin else url.host
        return f"the service redirects to {self.shown(where, 128)}, which is not followed: credentials stay at their origin; check base_url"

    def document_problem(self) -> str:
        """Why the body is no JSON that all readers read alike, "" for nothing."""
        if not self.body.strip(b" \t\r\n"):
            return "the answer is empty where JSON is due"
        try:
            _TREE.decode(self.body.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            problem = "the answer is no JSON" + self._kind_of_body()
            text = self.body.decode("utf-8", "surrogateescape")
            fault = next((i for i, ch in enumerate(text) if "\udc80" <= ch <= "\udcff"), -1)
            return problem if fault < 0 else f"{problem}: {_no_utf8(text, fault)}"
        problem = document_problem(self.body)
        return "the answer is no JSON that all read alike: " + self.shown(problem, 400) if problem else ""

    def _kind_of_body(self) -> str:
        media = self._media_type()
        if not media:
            return ""
        return ", perhaps cut short" if media == "application/json" else " but " + self.shown(media, 64)

    def _media_type(self) -> str:
        return self.headers.get("Content-Type").partition(";")[0].strip().lower()

    def document(self) -> Value:
        """The body of an answer that may be any JSON, as the service wrote it."""
        problem = self.document_problem()
        if problem:
            raise self.fail(Code.UNEXPECTED_RESPONSE, problem)
        return Value(self.body)

    def document_or_null(self) -> Value:
        """document() for the answer of a write: a whole answer of success without a body is null."""
        if 200 <= self.status < 300 and not self.body.strip():
            return Value(b"null")
        return self.document()

    def json(self, kind: Type[T]) -> T:
        """Decodes the body into a dataclass or another type; another shape is UNEXPECTED_RESPONSE, with the field."""
        return cast(T, self._shaped(kind, self.document(), "the answer has another shape: "))

    def decode(self, part: Union[str, bytes], kind: Type[T], *required: str) -> T:
        """Decodes a part of the answer, such as the data of an envelope; the named fields must be there."""
        document = part.decode() if isinstance(part, bytes) else part
        record = self._shaped(kind, document.encode(), "the record has another shape: ")
        fields = members(document)
        if required and fields is None:
            raise self.fail(Code.UNEXPECTED_RESPONSE, f"the record is {_type_name(_tree(document))} where an object is due")
        for name in required:
            if name not in dict(fields or []):
                raise self.fail(Code.UNEXPECTED_RESPONSE, f"the record has no `{name}`")
            if dict(fields or [])[name] == "null":
                raise self.fail(Code.UNEXPECTED_RESPONSE, f"`{name}` of the record is null")
        return cast(T, record)

    def envelope(self, kind: Type[T], mark: str) -> T:
        """Decodes an answer that the service wraps in an object; mark is a field that all its answers have."""
        fields = dict(members(self.document().decode()) or [])
        if fields.get(mark, "null") == "null":
            raise self.fail(Code.UNEXPECTED_RESPONSE, f"the answer has no `{mark}`: it is not from this service").with_hint("check base_url")
        return self.json(kind)

    def _shaped(self, kind: Any, document: bytes, says: str) -> Any:
        schema = _Reader(closed=False).read(kind)
        text = document.decode()
        problem = _shape_problem(_tree(text), schema, "")
        if problem:
            raise self.fail(Code.UNEXPECTED_RESPONSE, says + problem)
        try:
            return _decode(kind, text, None, "")
        except (_Unfit, ValueError) as err:
            raise self.fail(Code.UNEXPECTED_RESPONSE, says + (err.summary if isinstance(err, _Unfit) else "it can't be read")) from None

    def words(self) -> Tuple[str, str]:
        """The service's own words and its reason where the body has one of the usual forms of an error in JSON."""
        try:
            document = json.loads(self.body.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            return "", ""
        if isinstance(document, list) and document:
            document = document[0]
        message = reason = ""
        for found in _error_objects(document, 0) if isinstance(document, dict) else []:
            message = message or self.shown(_message_of(found), 300)
            reason = reason or self.shown(_reason_of(found), 64)
        return message, reason

    def _plain_words(self) -> str:
        media = self._media_type()
        if not self.body or not (not media or media.startswith("text/") or media.endswith("xml")):
            return ""
        try:
            text = self.body.decode()
        except ValueError:
            return ""
        start = self._core.masks.start(text, 8 << 10)[:16 << 10].strip()
        if start[:1] in ("{", "["):
            return ""
        if media.endswith("html") or start.lower().startswith("<!doctype html"):
            start = _page_text(start)
        return self.shown(" ".join(start.split()), 200)


def _shape_problem(value: Any, schema: Optional[_Schema], at: str) -> str:
    """Compares a document with the schema of an answer, leniently: null and what is missing pass."""
    if schema is None or value is None:
        return ""
    if isinstance(value, _Digits) and not schema.takes("number") and schema.takes("integer"):
        return "" if _whole(value.text) is not None else _shape_words(at, schema, "a number with a fraction, or beyond 64 bits")
    if not schema.allows(value):
        return _shape_words(at, schema, _type_name(value))
    if isinstance(value, list):
        found = (_shape_problem(v, schema.items, f"{at}[{i}]") for i, v in enumerate(value))
    elif isinstance(value, dict):
        found = (_shape_problem(value[k], schema.member(k), f"{at}.{k}" if at else k) for k in sorted(value))
    else:
        return ""
    return next(filter(None, found), "")


def _shape_words(at: str, schema: _Schema, got: str) -> str:
    return f"{'`' + shown(at, 200) + '`' if at else 'it'} is {got} where {_describe(schema)} is due"


def _error_objects(document: Any, depth: int) -> List[Dict[str, Any]]:
    """The objects of a document that may describe its error, the most exact one first."""
    if depth > 4:
        return []
    if isinstance(document, str):
        return [{"message": document}]
    if isinstance(document, list):
        return _error_objects(document[0], depth + 1) if document else []
    if not isinstance(document, dict):
        return []
    found: List[Dict[str, Any]] = []
    for name in ("error", "errors"):
        inner = document.get(name)
        if isinstance(inner, (dict, list)) or name == "errors" and isinstance(inner, str):
            found += _error_objects(inner, depth + 1)
    return [*found, document]


def _message_of(found: Dict[str, Any]) -> str:
    def text(name: str) -> str:
        value = found.get(name)
        return value.strip() if isinstance(value, str) else ""
    title, detail = text("title"), text("detail")
    if title and detail and title not in detail and not text("message") and not text("error_description"):
        return f"{title}: {detail}"  # RFC 9457
    for name in ("message", "error_description", "error_message", "detail", "title", "error"):
        if text(name):
            return text(name)
    lists = all(isinstance(v, list) and v and isinstance(v[0], str) for v in found.values())
    return f"{min(found)}: {found[min(found)][0]}" if found and lists else ""


def _reason_of(found: Dict[str, Any]) -> str:
    for name in ("error_code", "scimType", "code", "error", "type"):
        value = found.get(name)
        if isinstance(value, str) and value and len(value) <= 64 and not re.search(r"[ /\n]", value):
            return value
    return ""


def _page_text(page: str) -> str:
    """What a page of HTML shows: its title and its text."""
    title = re.search(r"(?is)<title[^>]*>(.*?)</title>", page)
    hidden = re.sub(r"(?is)<!--.*?(-->|\Z)|<(script|style|head)\b.*?(</(script|style|head)\s*>|\Z)", " ", page)
    text = html.unescape(re.sub(r"(?s)<[!/?a-zA-Z][^>]*(>|\Z)", " ", hidden)).strip()
    head = html.unescape(title.group(1)).strip() if title else ""
    return text if not head or text.startswith(head) else f"{head}: {text}"


class _NoAnswer(Exception):
    """There is no answer: in words for people."""

    def __init__(self, words: str, tls: bool = False) -> None:
        super().__init__(words)
        self.words, self.tls = words, tls


class _Cut(Exception):
    """A body that could not be read to its end, with the bytes that came."""

    def __init__(self, words: str = "", data: bytes = b"") -> None:
        self.words, self.data = words, data


class _TooLarge(Exception):
    pass


class _Proxy(typing.NamedTuple):
    url: _URL
    socks: bool


def _proxy_of(text: str) -> _Proxy:
    url = _URL.parse(text)
    if url is None or not url.host:
        raise ValueError("is no URL of a proxy such as http://proxy.example.com:3128")
    if url.scheme not in ("http", "https", "socks5", "socks5h"):
        raise ValueError("must start with http://, https:// or socks5://")
    return _Proxy(url, url.scheme.startswith("socks"))


def _environment_proxy(target: _URL) -> Optional[_Proxy]:
    """The proxy of the environment for a URL; this machine is never behind one."""
    origin = target.origin
    if origin is None or origin.is_loopback():
        return None
    names = ("HTTPS_PROXY", "https_proxy") if target.scheme == "https" else ("HTTP_PROXY", "http_proxy")
    text = next((os.environ[n] for n in names if os.environ.get(n)), "")
    if not text or _bypassed(origin):
        return None
    return _proxy_of(text if "://" in text else "http://" + text)


def _bypassed(origin: _Origin) -> bool:
    listed = os.environ.get("NO_PROXY") or os.environ.get("no_proxy") or ""
    for entry in filter(None, (e.strip().lower() for e in listed.split(","))):
        if entry == "*":
            return True
        try:
            if ipaddress.ip_address(origin.host) in ipaddress.ip_network(entry, strict=False):
                return True
        except ValueError:
            pass
        name, _, port = entry.partition(":") if entry.count(":") == 1 else (entry, "", "")
        if port and port != origin.port:
            continue
        name = name[1:] if name.startswith("*.") else name
        if origin.host == name.lstrip(".") and not name.startswith(".") or origin.host.endswith("." + name.lstrip(".")):
            return True
    return False


class _Pool:
    """The network connections of one flowrun connection that may be used again, by where they lead. A write never
    goes over one of them: what is lost on a connection that the service closes meanwhile can't be told from what was
    done."""

    def __init__(self, ca_file: Optional[str]) -> None:
        self.lock = threading.Lock()
        self.idle: Dict[str, List[Tuple[float, socket.socket]]] = {}
        self.tls: Optional[ssl.SSLContext] = None
        self.ca_file = ca_file

    def context(self) -> ssl.SSLContext:
        with self.lock:
            if self.tls is None:
                self.tls = ssl.create_default_context()
                self.tls.minimum_version = ssl.TLSVersion.TLSv1_2
                if self.ca_file:
                    self.tls.load_verify_locations(self.ca_file)
            return self.tls

    def take(self, key: str) -> Optional[socket.socket]:
        with self.lock:
            idle = self.idle.get(key, [])
            while idle:
                since, found = idle.pop()
                if time.monotonic() - since < 60 and not select.select([found], [], [], 0)[0]:
                    return found
                found.close()
        return None

    def give(self, key: str, used: socket.socket) -> None:
        with self.lock:
            idle = self.idle.setdefault(key, [])
            idle.append((time.monotonic(), used))
            if len(idle) > 16:
                idle.pop(0)[1].close()

    def close(self) -> None:
        with self.lock:
            for idle in self.idle.values():
                for _, held in idle:
                    held.close()
            self.idle.clear()


class _Exchange:
    """One request and its answer over one network connection, within the time of the call."""

    def __init__(self, core: "_Core", pool: _Pool, proxy: Optional[_Proxy], until: float, packed: bool) -> None:
        self.core, self.pool, self.proxy, self.until, self.packed = core, pool, proxy, until, packed
        self.sock: Optional[socket.socket] = None
        self.sent = self.received = False  # anything of the request, of an answer
        self.status, self.answer = 0, Headers([])  # once the body is read
        self.buffer = b""
        self.ended = False

    def run(self, method: str, url: _URL, headers: Dict[str, str], body: Optional[bytes], limit: int) -> Tuple[int, Headers, bytes]:
        forward = self.proxy is not None and not self.proxy.socks and url.scheme == "http"
        key = f"{url.origin} via {self.proxy.url.text() if self.proxy else ''}"
        reused = self.pool.take(key) if method in ("GET", "HEAD") else None
        try:
            with self.core.interruptible(self.abort):
                self.sock = reused or self.connect(url, forward)
                try:
                    status, answer, data, keep = self.ask(method, url, headers, body, limit, forward)
                except _NoAnswer:
                    if not reused or self.received or self.over():
                        raise
                    self.sock.close()  # the service had closed it: a read is asked again, once, on a new one
                    self.buffer, self.ended = b"", False
                    self.sock = self.connect(url, forward)
                    status, answer, data, keep = self.ask(method, url, headers, body, limit, forward)
        except BaseException:
            self.abort()
            raise
        if keep and self.sock:
            self.pool.give(key, self.sock)
        elif self.sock:
            self.sock.close()
        return status, answer, data

    def over(self) -> bool:
        return self.core.canceled.is_set() or time.monotonic() >= self.until

    def abort(self) -> None:
        if self.sock:
            try:
                self.sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            self.sock.close()

    def ask(self, method: str, url: _URL, headers: Dict[str, str], body: Optional[bytes], limit: int, forward: bool) -> Tuple[int, Headers, bytes, bool]:
        where = url.escaped_path or "/"
        where = f"{where}?{url.query}" if url.query else where
        if forward and self.proxy:
            where = f"http://{url.hostport}{where}"
            if self.proxy.url.user:
                headers = {**headers, "Proxy-Authorization": _basic(self.proxy.url.user)}
        lines = [f"{method} {where} HTTP/1.1", f"Host: {url.hostport}"]
        lines += [f"{k}: {v}" for k, v in headers.items()]
        if body is not None or method in ("POST", "PUT", "PATCH"):
            lines.append(f"Content-Length: {len(body or b'')}")
        self.sent = True
        self.send("\r\n".join([*lines, "", ""]).encode("latin-1", "replace") + (body or b""))
        version, status, answer = self.head()
        self.framing(answer)
        self.status, self.answer = status, answer
        data, whole = self.body(method, status, answer, limit)
        keep = whole and version == "1.1" and "close" not in answer.get("Connection").lower() and not self.buffer
        return status, answer, data, keep

    # -- connections

    def connect(self, url: _URL, forward: bool) -> socket.socket:
        first = self.proxy.url if self.proxy else url
        port = int(first.port or {"https": 443, "http": 80}.get(first.scheme, 1080))
        if port > 65535:
            raise _NoAnswer(f"{port} is no port")
        sock = self.dial(first.host, port)
        self.sock = sock
        if self.proxy and self.proxy.url.scheme == "https":
            sock = self.sock = self.secure(sock, first.host)
        if self.proxy and self.proxy.socks:
            self.socks(url)
        elif self.proxy and not forward:
            self.tunnel(url)
        if url.scheme == "https":
            sock = self.secure(sock, url.host)
        return sock

    def dial(self, host: str, port: int) -> socket.socket:
        until = min(time.monotonic() + 10, self.until)
        last = "no address"
        for family, kind, proto, _, address in self.resolve(host, port, until):
            sock = socket.socket(family, kind, proto)
            sock.setblocking(False)
            failed = sock.connect_ex(address)
            while failed in (115, 36, 10035) or failed == 114:  # in progress
                if self.over() or time.monotonic() > until:
                    sock.close()
                    raise _NoAnswer("no answer in time")
                if select.select([], [sock], [], 0.1)[1]:
                    failed = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            if failed == 0:
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                sock.setblocking(True)
                return sock
            sock.close()
            last = _system_words(failed)
        raise _NoAnswer(f"the proxy {host}:{port}: {last}" if self.proxy else last)

    def resolve(self, host: str, port: int, until: float) -> Any:
        found: "queue.Queue[Any]" = queue.Queue()

        def look() -> None:
            try:
                found.put(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
            except (OSError, UnicodeError) as err:
                found.put(err)
        try:
            ipaddress.ip_address(host)
            look()
        except ValueError:
            threading.Thread(target=look, daemon=True).start()
        while True:
            try:
                result = found.get(timeout=0.1)
                break
            except queue.Empty:
                if self.over() or time.monotonic() > until:
                    raise _NoAnswer("no answer in time") from None
        if isinstance(result, socket.gaierror) and result.errno != socket.EAI_AGAIN:
            raise _NoAnswer(f"no host {host} is known")
        if isinstance(result, Exception):
            raise _NoAnswer(f"the name {host} can't be looked up")
        return result

    def secure(self, sock: socket.socket, host: str) -> socket.socket:
        sock.settimeout(self.patience())
        try:
            wrapped = self.pool.context().wrap_socket(sock, server_hostname=host)
        except ssl.SSLCertVerificationError as err:
            raise _NoAnswer(f"its certificate can't be verified: {err.verify_message}", tls=True) from None
        except ssl.SSLError as err:
            reason = err.reason or str(err)
            if reason in ("WRONG_VERSION_NUMBER", "HTTP_REQUEST"):
                raise _NoAnswer("it answers in HTTP where base_url says https", tls=True) from None
            raise _NoAnswer(f"tls: {reason.replace('_', ' ').lower()}", tls=True) from None
        except OSError as err:
            raise self.broken(err) from None
        return wrapped

    def tunnel(self, url: _URL) -> None:
        target = f"{url.host if ':' not in url.host else '[' + url.host + ']'}:{url.port or 443}"
        lines = [f"CONNECT {target} HTTP/1.1", f"Host: {target}"]
        if self.proxy and self.proxy.url.user:
            lines.append(f"Proxy-Authorization: {_basic(self.proxy.url.user)}")
        self.send("\r\n".join([*lines, "", ""]).encode())
        _, status, _ = self.head()
        if status != 200:
            raise _NoAnswer(f"the proxy refused the connection: {status} {_status_text(status)}")

    def socks(self, url: _URL) -> None:
        user = self.proxy.url.user if self.proxy else None
        self.send(b"\x05\x01\x02" if user else b"\x05\x01\x00")
        method = self.exactly(2)[1]
        if method == 2 and user:
            name, _, password = urllib.parse.unquote(user).partition(":")
            self.send(b"\x01" + bytes([len(name)]) + name.encode() + bytes([len(password)]) + password.encode())
            method = self.exactly(2)[1]
        if method != 0:
            raise _NoAnswer("the proxy refused the login")
        host = url.host.encode("idna")
        self.send(b"\x05\x01\x00\x03" + bytes([len(host)]) + host + int(url.port or {"https": 443}.get(url.scheme, 80)).to_bytes(2, "big"))
        reply = self.exactly(4)
        if reply[1] != 0:
            raise _NoAnswer(f"the proxy could not connect: {reply[1]}")
        self.exactly({1: 4, 4: 16}.get(reply[3]) or self.exactly(1)[0])
        self.exactly(2)

    # -- bytes

    def patience(self) -> Optional[float]:
        """How long one operation may take; the call's end shuts the socket besides."""
        left = self.until - time.monotonic()
        return None if left > 1e9 else max(left, 0.001)

    def send(self, data: bytes) -> None:
        assert self.sock is not None
        try:
            self.sock.settimeout(self.patience())
            self.sock.sendall(data)
        except OSError as err:
            # an answer may be there all the same: a service that refuses a body closes early
            if isinstance(err, socket.timeout) or self.over() or not select.select([self.sock], [], [], 0)[0]:
                raise self.broken(err) from None

    def more(self) -> bool:
        """Reads on; False at the end of what the service sends."""
        assert self.sock is not None
        if self.ended:
            return False
        try:
            self.sock.settimeout(self.patience())
            data = self.sock.recv(64 << 10)
        except OSError as err:
            raise self.broken(err) from None
        self.ended = not data
        self.received = self.received or bool(data)
        self.buffer += data
        return bool(data)

    def broken(self, err: OSError) -> _NoAnswer:
        if isinstance(err, socket.timeout):
            return _NoAnswer("no answer in time")
        if isinstance(err, ssl.SSLError) or err.errno is None:
            return _NoAnswer("the connection ended before an answer")
        return _NoAnswer("the connection broke: " + _system_words(err.errno))

    def exactly(self, n: int) -> bytes:
        while len(self.buffer) < n:
            if not self.more():
                raise _NoAnswer("the connection ended before an answer")
        data, self.buffer = self.buffer[:n], self.buffer[n:]
        return data

    def head(self) -> Tuple[str, int, Headers]:
        """The status and the headers of the answer, behind interim ones."""
        size = 0
        while size <= 64 << 10:
            version, status, answer = self.one_head()
            if status >= 200 or status == 101:
                return version, status, answer
            size += 32 + sum(len(k) + len(v) for k, v in answer.pairs)
        raise _NoAnswer("the answer is made of interim responses only")

    def one_head(self) -> Tuple[str, int, Headers]:
        first = self.line(before=True)
        found = re.match(rb"HTTP/(1\.[01]) (\d{3})(?: .*)?\Z", first, re.S)
        if not found:
            raise _NoAnswer("what came back is no HTTP")
        pairs: List[Tuple[str, str]] = []
        size = len(first)
        while True:
            line = self.line()
            size += len(line)
            if size > 64 << 10:
                raise _NoAnswer("the headers of the answer are larger than 64 KiB")
            if not line:
                break
            if line[:1] in (b" ", b"\t") and pairs:
                pairs[-1] = (pairs[-1][0], pairs[-1][1] + " " + line.strip().decode("latin-1"))
                continue
            name, colon, value = line.partition(b":")
            if not colon or not re.match(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z", name):
                raise _NoAnswer("the headers of the answer are broken or cut short")
            pairs.append((name.decode(), value.strip(b" \t").decode("utf-8", "replace")))
        return found[1].decode(), int(found[2]), Headers(pairs)

    def line(self, before: bool = False) -> bytes:
        while b"\n" not in self.buffer:
            if len(self.buffer) > 64 << 10:
                raise _NoAnswer("the headers of the answer are larger than 64 KiB")
            if not self.more():
                if before and not self.buffer:
                    raise _NoAnswer("the connection ended before an answer")
                raise _NoAnswer("the headers of the answer are cut short")
        line, _, self.buffer = self.buffer.partition(b"\n")
        return line[:-1] if line.endswith(b"\r") else line

    def framing(self, answer: Headers) -> Tuple[bool, Optional[int]]:
        """Whether the body comes in chunks, and its length where the answer gives it."""
        lengths = {v.strip() for v in answer.all("Content-Length")}
        codings = [v.strip().lower() for v in answer.all("Transfer-Encoding")]
        if len(codings) > 1:
            raise _NoAnswer("the answer has several Transfer-Encodings")
        if codings and codings != ["chunked"]:
            raise _NoAnswer("the answer has a Transfer-Encoding that is not known")
        if codings or not lengths:
            return bool(codings), None
        if len(lengths) > 1:
            raise _NoAnswer("the answer gives its length twice, and differently")
        length = next(iter(lengths))
        if not re.match(r"[0-9]{1,18}\Z", length):
            raise _NoAnswer("the answer gives no length that is a number")
        return False, int(length)

    def body(self, method: str, status: int, answer: Headers, limit: int) -> Tuple[bytes, bool]:
        """The body within its bound, and whether the connection can be used again."""
        chunked, length = self.framing(answer)
        if method == "HEAD" or status in (204, 304) or status < 200:
            return b"", True
        reader = self.chunks() if chunked else self.rest() if length is None else self.sized(length)
        if self.packed and answer.get("Content-Encoding").strip().lower() == "gzip" and length != 0:
            reader = _unpacked(reader)
        return _collect(reader, limit), chunked or length is not None

    def piece(self, n: int) -> bytes:
        if not self.buffer:
            try:
                if not self.more():
                    return b""
            except _NoAnswer:
                if self.over():
                    raise
                raise _Cut() from None
        data, self.buffer = self.buffer[:n], self.buffer[n:]
        return data

    def sized(self, left: int) -> Iterator[bytes]:
        while left > 0:
            data = self.piece(left)
            if not data:
                raise _Cut()
            left -= len(data)
            yield data

    def rest(self) -> Iterator[bytes]:
        while True:
            data = self.piece(1 << 16)
            if not data:
                return
            yield data

    def chunks(self) -> Iterator[bytes]:
        while True:
            size = self.chunk_line()
            found = re.match(rb"([0-9a-fA-F]{1,15})[ \t]*(?:;.*)?\Z", size, re.S)
            if not found:
                raise _Cut(": its chunks can't be read")
            if int(found[1], 16) == 0:
                break
            yield from self.sized(int(found[1], 16))
            if self.chunk_line():
                raise _Cut(": its chunks can't be read")
        while self.chunk_line():
            pass

    def chunk_line(self) -> bytes:
        try:
            return self.line()
        except _NoAnswer:
            if self.over():
                raise
            raise _Cut() from None


def _collect(reader: Iterator[bytes], limit: int) -> bytes:
    parts: List[bytes] = []
    size = 0
    try:
        for data in reader:
            parts.append(data)
            size += len(data)
            if size > limit:
                raise _TooLarge
    except _Cut as cut:
        raise _Cut(cut.words, b"".join(parts)) from None
    return b"".join(parts)


def _unpacked(reader: Iterator[bytes]) -> Iterator[bytes]:
    unpack = zlib.decompressobj(31)
    try:
        for data in reader:
            while data:
                yield unpack.decompress(data, 1 << 20)
                data = unpack.unconsumed_tail
                if unpack.eof and unpack.unused_data:
                    data, unpack = unpack.unused_data, zlib.decompressobj(31)
    except zlib.error:
        raise _Cut(": it says that it is packed with gzip, and is not") from None
    if not unpack.eof:
        raise _Cut()


def _system_words(number: int) -> str:
    return os.strerror(number).lower()


def _basic(user: str) -> str:
    return "Basic " + base64.b64encode(urllib.parse.unquote(user).encode()).decode()


class HTTPClient:
    """Sends requests to the connection's base_url and turns failures into Errors: by status, by what the network did,
    and by what a classifier reads from the body. It sends each write once, keeps no cookies, caps bodies and follows
    redirects of reads. Credentials go to the origin of base_url and to those that the plugin's hosts grant, and
    nowhere else. The with_ methods return changed copies. Safe for concurrent use."""

    def __init__(self, core: "_Core") -> None:
        self._core = core
        self._base: str = core.conn.base_url
        self._prefix = core.plugin.path_prefix
        self._granted = core.conn.granted
        self._headers: Dict[str, str] = {}
        self._classify: Optional[Callable[[Response], Optional[Exception]]] = None
        self._timeout = 0.0
        self._fault = ""
        self._grant: Optional["Grant"] = None
        self._of_token = False  # its requests are for a token: nothing of the call itself

    def _copy(self) -> "HTTPClient":
        changed = HTTPClient.__new__(HTTPClient)
        changed.__dict__.update(self.__dict__)
        changed._headers = dict(self._headers)
        return changed

    def with_timeout(self, seconds: float) -> "HTTPClient":
        """A client whose requests take at most so long, and no longer than the call."""
        changed = self._copy()
        changed._timeout = seconds
        return changed

    def with_base(self, root: str) -> "HTTPClient":
        """A client of another root URL of the same service, such as its authorization server."""
        changed = self._copy()
        changed._prefix = ""
        try:
            changed._base = check_base_url(root)
        except ValueError as err:
            changed._fault = f"the URL to send to {err}"
        return changed

    def with_path(self, prefix: str) -> "HTTPClient":
        """A client whose paths start with prefix, such as "/api/v1"."""
        changed = self._copy()
        changed._prefix = self._prefix + prefix.rstrip("/")
        return changed

    def with_header(self, name: str, value: Optional[str]) -> "HTTPClient":
        """A client that sends a header to the origins that are granted; without a value it sends no such header."""
        changed = self._copy()
        changed._headers = {k: v for k, v in self._headers.items() if k.lower() != name.lower()}
        if value:
            changed._headers[name] = value
        return changed

    def with_bearer(self, token: Optional[str]) -> "HTTPClient":
        """A client that sends an access token; with none it sends none."""
        return self.with_header("Authorization", f"Bearer {token}" if token else "")

    def with_origin(self, address: str) -> "HTTPClient":
        """A client that may send credentials to the origin of a URL too: one that a source which the config names
        vouches for. Never give it one that an answer, a redirect or a link has named."""
        changed = self._copy()
        url = _URL.parse(address)
        if url is not None and url.origin:
            changed._granted = [*self._granted, url.origin]
        return changed

    def with_classifier(self, fn: Callable[[Response], Optional[Exception]]) -> "HTTPClient":
        """A client that asks fn about every answer before it looks at the status: it returns (or raises) the failure,
        or None to go on with the status."""
        changed = self._copy()
        changed._classify = fn
        return changed

    def with_grant(self, grant: "Grant") -> "HTTPClient":
        """A client that sends a token of the grant with every request. The token is kept by the host for all runs and
        renewed by one call at a time; when the service refuses it with 401, a new one is got and the request is sent
        once more. The credentials go to the token endpoint alone."""
        changed = self._copy()
        changed._grant = grant
        return changed

    def get(self, path: str, query: Optional[Query] = None) -> Response:
        """Reads a path."""
        return self.do(Request(path, query=query))

    def get_json(self, path: str, kind: Type[T], query: Optional[Query] = None) -> T:
        """Reads a path and decodes the answer, see Response.json."""
        return self.get(path, query).json(kind)

    def post(self, path: str, body: Any) -> Response:
        """Sends a JSON body to a path."""
        return self.do(Request(path, method="POST", json=body))

    def post_form(self, path: str, form: Query) -> Response:
        """Sends a form to a path."""
        return self.do(Request(path, method="POST", form=form))

    def do(self, request: Request) -> Response:
        """Sends one request and reads the whole answer. What it raises is an Error."""
        if self._grant is not None:
            return self._do_granted(request, self._grant)
        if self._fault:
            raise Error(Code.INVALID, "the connection's settings: " + self._fault)
        try:
            target = self._target(request)
        except Error as error:
            error.applied = Applied.NOT_APPLIED
            raise
        method, headers, body = self._outgoing(request, target)
        for name, value in _pairs(request.query):
            if name in request.secret_query:
                self._core.masks.add(value)
        started = time.monotonic()
        response = self._send(method, target, headers, body, request)
        response._core.add_meta(response, time.monotonic() - started)
        self._judge(response, request)
        return response

    def _do_granted(self, request: Request, grant: "Grant") -> Response:
        """Sends a request with the grant's token, and once more with a new one where the service refuses the first: a
        refusal with 401 has done nothing."""
        plain = self._copy()
        plain._grant = None
        token = plain._grant_token(grant)
        try:
            return plain.with_bearer(token.access_token).do(request)
        except Error as error:
            if error.code != Code.UNAUTHORIZED or error.applied != Applied.NOT_APPLIED:
                raise
        token = plain._grant_token(grant, token.id)
        return plain.with_bearer(token.access_token).do(request)

    def _grant_token(self, grant: "Grant", reject: str = "") -> Token:
        return self._core.token(TokenRequest(key=grant._key(), min_ttl=_GRANT_MARGIN, reject=reject,
                                             refresh=lambda stale: grant._ask(self, grant._form(stale))))

    def _target(self, request: Request) -> _URL:
        query = _encode_query(request.query)
        if request.url:
            url = _URL.parse(request.url)
            if url is None or not url.host or url.user is not None or url.scheme not in ("http", "https"):
                raise Error(Code.INVALID, "the URL must be absolute, http or https, without user and password")
            joined = "&".join(filter(None, [url.query or "", query]))
            return url._replace(fragment=None, query=joined or None)
        below = self._prefix + request.path
        if not self._base:
            raise Error(Code.INTERNAL, f"the config has no base_url to send {_quote(below)} to")
        if re.search(r"[?#\\]", below) or _has_dot_segment(below):
            raise Error(Code.INTERNAL, f"path {_quote(below)} holds ?, #, \\ or a dot segment: escape its segments and put the query aside")
        below = below if not below or below.startswith("/") else "/" + below
        root, url = _URL.parse(self._base), _URL.parse(self._base + below)
        if root is None:
            raise Error(Code.INVALID, "base_url is no URL")
        if url is None or url.hostport != root.hostport or url.user is not None:
            raise Error(Code.INTERNAL, f"path {_quote(below)} is not escaped")
        return url._replace(query=query or None)

    def _outgoing(self, request: Request, target: _URL) -> Tuple[str, Dict[str, str], Optional[bytes]]:
        body, content_type = request.body, request.content_type
        if request.json is not None:
            try:
                body, content_type = dumps(request.json).encode(), "application/json"
            except (TypeError, ValueError) as err:
                raise Error(Code.INTERNAL, f"encode the request's body: {err}", applied=Applied.NOT_APPLIED) from None
        elif request.form is not None:
            body, content_type = _encode_query(request.form).encode(), "application/x-www-form-urlencoded"
        method = request.method or ("GET" if body is None else "POST")
        if not re.match(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z", method):
            raise Error(Code.INTERNAL, f"build the request: {_quote(method)} is no method", applied=Applied.NOT_APPLIED)
        headers = self._all_headers(request, method, content_type)
        self._confine(headers, request, target, body)
        for name, value in headers.items():
            if not re.match(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z", name) or re.search(r"[\x00-\x08\x0a-\x1f\x7f]", value):
                raise Error(Code.INTERNAL, f"build the request: header {shown(name, 64)} can't carry its value", applied=Applied.NOT_APPLIED)
        return method, headers, body

    def _all_headers(self, request: Request, method: str, content_type: str) -> Dict[str, str]:
        run = self._core.run
        headers = {"Accept": "application/json", "User-Agent": self._core.user_agent()}

        def put(name: str, value: str) -> None:
            for known in [k for k in headers if k.lower() == name.lower()]:
                del headers[known]
            headers[name] = value
        for more in (self._headers, request.headers):
            for name, value in more.items():
                put(name, value)
        if content_type:
            put("Content-Type", content_type)
        known = {k.lower() for k in headers}
        headers = {k: v for k, v in headers.items() if k.lower() not in ("cookie", "content-length", "host", "connection", "transfer-encoding")}
        if _is_traceparent(run.traceparent) and "traceparent" not in known:
            headers["Traceparent"] = run.traceparent
        if method not in ("GET", "HEAD") and run.idempotency_key and not self._of_token and self._core.keyed() and "idempotency-key" not in known:
            headers["Idempotency-Key"] = run.idempotency_key
        if "accept-encoding" not in known:
            headers["Accept-Encoding"] = "gzip"
        return headers

    def _confine(self, headers: Dict[str, str], request: Request, target: _URL, body: Optional[bytes]) -> None:
        """Keeps credentials at the origins that the config grants."""
        if target.origin in self._granted:
            return
        what = self._credential_of(headers, request, target, body)
        if not what:
            own = {k.lower() for k in request.headers}
            for name in [k for k in headers if k.lower() in {n.lower() for n in self._headers} and k.lower() not in own]:
                del headers[name]
            return
        leads = str(target.origin) if target.origin else "another origin"
        raise invalid("", f"the request to {leads} would carry a credential ({what}) of the connection: it may go to base_url and the hosts that the plugin declares only") \
            .with_hint("check base_url; a plugin grants further origins with hosts, and those of its config with hosts_from")

    def _credential_of(self, headers: Mapping[str, str], request: Request, target: _URL, body: Optional[bytes]) -> str:
        mask = self._core.credentials.text
        for name, value in headers.items():
            if value and _is_credential_header(name) or mask(value) != value:
                return "header " + "-".join(p.capitalize() for p in name.split("-"))
        if request.secret_query:
            return "the query"
        if mask(target.text()) != target.text():
            return "the URL"
        if body:
            text = body.decode("latin-1")
            if mask(text) != text or mask(body.decode("utf-8", "replace")) != body.decode("utf-8", "replace"):
                return "the body"
        return ""

    def _send(self, method: str, target: _URL, headers: Dict[str, str], body: Optional[bytes], request: Request) -> Response:
        carries = bool(self._headers) or bool(self._credential_of(headers, request, target, None))
        limit = min(request.max_body if request.max_body > 0 else DEFAULT_MAX_BODY, HARD_MAX_BODY)
        until = min(self._core.deadline, time.monotonic() + self._timeout if self._timeout > 0 else float("inf"))
        packed = not any(k.lower() == "accept-encoding" for k in [*self._headers, *request.headers])
        first = target
        for followed in range(6):
            proxy = self._core.conn.proxy or _environment_proxy(target)
            exchange = _Exchange(self._core, self._core.conn.pool, proxy, until, packed)
            response = self._exchange(exchange, method, target, headers, body, limit)
            location = response.headers.get("Location")
            if response.status not in (301, 302, 303, 307, 308) or method not in ("GET", "HEAD") or not location or followed == 5:
                break
            following = target.join(location)
            if following is None or not self._may_follow(first, following, carries):
                break
            target = following._replace(fragment=None)
        return response

    def _may_follow(self, first: _URL, following: _URL, carries: bool) -> bool:
        here, there = first.origin, following.origin
        if here is None or there is None or following.user is not None:
            return False
        if here == there:
            return True
        if here.scheme == "https" and there.scheme != "https":
            return False
        if here in self._granted and there in self._granted:
            return True
        return not carries and here.host == there.host and first.hostport == following.hostport

    def _exchange(self, exchange: _Exchange, method: str, target: _URL, headers: Dict[str, str], body: Optional[bytes], limit: int) -> Response:
        def partly(data: bytes) -> Response:
            return Response(self._core, method, target, exchange.status, exchange.answer, data)
        try:
            status, answer, data = exchange.run(method, target, headers, body, limit)
        except (_NoAnswer, OSError) as err:
            cause = exchange.broken(err) if isinstance(err, OSError) else err
            code, what = self._why(exchange, cause)
            if exchange.status:
                raise partly(b"").fail(code, what + " while the answer was read") from None
            raise self._network_error(method, target, cause, exchange) from None
        except _TooLarge:
            raise partly(b"").fail(Code.UNEXPECTED_RESPONSE, f"the answer is larger than {limit} bytes") from None
        except _Cut as err:
            raise partly(err.data).fail(Code.UNEXPECTED_RESPONSE, f"the answer was cut short after {len(err.data)} bytes{err.words}") from None
        finally:
            if exchange.sent and method not in ("GET", "HEAD") and not self._of_token:
                self._core.wrote = True
        data = data[3:] if data.startswith(b"\xef\xbb\xbf") else data
        return Response(self._core, method, target, status, answer, data)

    def _why(self, exchange: _Exchange, err: _NoAnswer) -> Tuple[Code, str]:
        if self._core.canceled.is_set():
            return Code.CANCELED, "the call was canceled"
        if exchange.over() or err.words == "no answer in time":
            return Code.TIMEOUT, "no answer in time"
        return Code.UNAVAILABLE, shown(self._core.masks.text(err.words), 300)

    def _judge(self, response: Response, request: Request) -> None:
        classify = request.classify or self._classify
        failure = classify(response) if classify else None
        if failure is not None:
            raise failure
        if not 200 <= response.status < 300 and response.status not in request.accept:
            raise response.status_error()

    def _network_error(self, method: str, target: _URL, err: _NoAnswer, exchange: _Exchange) -> Error:
        """Classifies a request without an answer; where it was not sent, the service has not seen it."""
        code, what = self._why(exchange, err)
        error = Error(code, f"{method} {target.hostport}{target.escaped_path}: {what}",
                      details={"method": method, "url": target.redacted()})
        if not exchange.sent:
            error.applied = Applied.NOT_APPLIED
        if err.tls:
            error.hint = "check base_url and, for a private certificate authority, ca_file"
        return error


_TRACEPARENT = re.compile(r"00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}\Z")


def _is_traceparent(text: str) -> bool:
    ids = _TRACEPARENT.match(text)
    return bool(ids and ids[1].strip("0") and ids[2].strip("0"))


# ---- pages ---------------------------------------------------------------------------------------------------------

@dataclasses.dataclass
class Page:
    """One page of a list: what Call.read_page makes of an answer, and a ready output of a paged action."""

    items: typing.Annotated[List[Value], Field("The records of the page, unchanged.")]
    next_cursor: typing.Annotated[Optional[str], Field("Cursor of the next page, or null when this is the last.")]
    page: typing.Annotated[Value, Field("The whole answer, unchanged; null where all pages are read, since their items are what is kept.")]
    total = None  # type: Optional[int]  # how many items there are in all, where the service says it


class _ReadPage:
    """A page while it is read."""

    def __init__(self, response: Response) -> None:
        self.response = response
        self.fields: Dict[str, str] = {}  # of a page that is an object
        self.items: List[Value] = []
        self.total: Optional[int] = None

    def text(self, field: str) -> str:
        value = self.fields.get(field, "null")
        if value == "null":
            return ""
        text = _loads(value)
        if not isinstance(text, str):
            raise self.response.fail(Code.UNEXPECTED_RESPONSE, f"`{field}` of the page is {_type_name(_tree(value))} where text is due")
        return text

    def count(self, field: str) -> Optional[int]:
        value = self.fields.get(field, "null") if field else "null"
        if value == "null":
            return None
        problem = _shape_problem(_tree(value), _Schema("integer"), "")
        if problem:
            raise self.response.fail(Code.UNEXPECTED_RESPONSE, f"`{field}` of the page has another shape: {problem}")
        return _whole(value)


class NextPage:
    """A way to find the next page: ByCursor, ByNumber, ByIndex, ByLink."""

    def next(self, page: _ReadPage) -> str:
        raise NotImplementedError


@dataclasses.dataclass
class ByCursor(NextPage):
    """By a cursor that the page names at its top: absent, null and "" mean that this is the last page."""

    field: str

    def next(self, page: _ReadPage) -> str:
        return page.text(self.field)


@dataclasses.dataclass
class ByNumber(NextPage):
    """By counting pages. A page with fewer items than were asked for is the last."""

    at: Optional[int] = None  # the page that was asked for; None = the first
    start: int = 1  # number of the first page: 1, or 0
    size: int = 0  # items that were asked for; 0 = not known, and then an empty page is the last

    def next(self, page: _ReadPage) -> str:
        received = len(page.items)
        if received == 0 or received < self.size:
            return ""
        return str((self.start if self.at is None else self.at) + 1)


@dataclasses.dataclass
class ByIndex(NextPage):
    """By the index of the first item: where this page started and what it brought. A page that starts elsewhere than
    asked for, or holds more than there is behind its start, fails."""

    asked: Optional[int] = None  # index that was asked for; None = the first
    start: int = 0  # index of the first item of all: 1, or 0
    start_field: str = ""  # field with the index of the page's first item
    total_field: str = ""  # field with the number of all items

    def next(self, page: _ReadPage) -> str:
        start, page.total = page.count(self.start_field), page.count(self.total_field)
        received = len(page.items)
        if received == 0:
            return ""
        at = self.start
        if self.asked is not None and start is not None and start != self.asked:
            raise self._misplaced(page, f"the page starts at {start}, asked for was {self.asked}")
        if self.asked is not None:
            at = self.asked
        elif start is not None:
            at = max(start, self.start)
        following = at + received
        if _int64(following) is None:
            raise self._misplaced(page, f"the page starts at {at}, which is no index of a list")
        if page.total is None:
            return str(following)
        if following - self.start > page.total:
            raise self._misplaced(page, f"the page holds {received} items from {at} on, and there are {page.total} in all: it starts elsewhere, or goes past its total")
        return "" if following - self.start == page.total else str(following)

    @staticmethod
    def _misplaced(page: _ReadPage, words: str) -> Error:
        return page.response.fail(Code.UNEXPECTED_RESPONSE, words) \
            .with_hint("the pages can't be put together; ask for all items at once with a larger page")


@dataclasses.dataclass
class ByLink(NextPage):
    """By a link to it: a field at the top of the page, or with "" the Link header with rel="next" (RFC 8288). The
    cursor is the link, made absolute: the action sends it as Request.url. It may not lead to another origin."""

    field: str = ""

    def next(self, page: _ReadPage) -> str:
        link = page.text(self.field) if self.field else _link_to(page.response.headers.all("Link"), "next")
        return next_link(page.response, link)


def next_link(response: Response, link: str) -> str:
    """Makes a link of an answer absolute: "" stays "". It must lead to the origin that the answer came from."""
    if not link:
        return ""
    target = response._url.join(link)
    if target is None or target.user is not None or not target.host:
        raise response.fail(Code.UNEXPECTED_RESPONSE, "the link to the next page can't be read")
    if target.origin is None or target.origin != response._url.origin:
        leads = str(target.origin) if target.origin else f"{target.scheme}://{target.hostport}"
        raise response.fail(Code.UNEXPECTED_RESPONSE, f"the link to the next page leads to {response.shown(leads, 128)}, and the answer came from {response._url.origin}") \
            .with_hint("the connection's credential would go there; check base_url")
    return target._replace(fragment=None).text()


def _link_to(headers: Sequence[str], relation: str) -> str:
    """The target of a relation out of Link headers, "" for none."""
    for header in headers:
        for found in re.finditer(r'<([^>]*)>((?:[^",]|"(?:[^"\\]|\\.)*")*)', header):
            for parameter in re.findall(r'(?:[^";]|"(?:[^"\\]|\\.)*")+', found[2]):
                name, _, value = parameter.partition("=")
                if name.strip().lower() == "rel":
                    if relation in value.strip().strip('"').lower().split():
                        return found[1]
                    break
    return ""


# ---- calls ---------------------------------------------------------------------------------------------------------

@dataclasses.dataclass
class RunInfo:
    """Which call this is."""

    workflow: str = ""
    run_id: str = ""
    step: str = ""  # with the item: domains[example.com].whois
    attempt: int = 1  # from 1
    idempotency_key: str = ""  # stable across attempts and restarts of the host
    scheduled_at: Optional[datetime.datetime] = None
    traceparent: str = ""  # W3C trace context, "" = not traced; the HTTP client sends it on


@dataclasses.dataclass
class StateEntry:
    """One value of the state with its version, 0 = there is no entry."""

    value: bytes = b""
    version: int = 0


@dataclasses.dataclass
class Token:
    """An access token of a connection. Its text is a secret."""

    access_token: str
    token_type: str = ""
    refresh_token: str = ""
    expires_at: Optional[datetime.datetime] = None
    extra: bytes = b""  # JSON of the plugin's own
    id: str = ""  # names it in TokenRequest.reject; safe to log


@dataclasses.dataclass
class StoredToken:
    """What the host knows of a token: none, valid, expired or auth_required."""

    state: str
    expires_at: Optional[datetime.datetime] = None
    renewable: bool = False
    extra: bytes = b""
    reason: str = ""


@dataclasses.dataclass
class TokenRequest:
    """Asks for a token that is valid for at least min_ttl seconds.

    refresh gets a new token; it is given the one before, or None. It runs in one process at a time for all runs, and
    the host stores what it returns before anybody uses it. An Error of AUTH_REQUIRED says that the grant is gone: the
    host forgets the token, and the run pauses until somebody has logged in. After any other error the stale token is
    kept, and given as long as it is good."""

    refresh: Optional[Callable[[Optional[Token]], Token]] = None
    key: str = ""  # one of several tokens of the connection
    min_ttl: float = 0  # 0 = any that is not expired
    reject: str = ""  # id of a token that the service refused
    force: bool = False  # run refresh whatever the age of the stored token
    replace: bool = False  # store what refresh returns as it stands: else it keeps the stale one's refresh token


class _Cleanup:
    """Calls a function when the call ends while something is under way."""

    def __init__(self, core: "_Core", fn: Callable[[], Any]) -> None:
        self.core, self.fn = core, fn

    def __enter__(self) -> None:
        with self.core.lock:
            self.core.on_cancel.append(self.fn)
        if self.core.canceled.is_set():
            self.fn()

    def __exit__(self, *_: Any) -> None:
        with self.core.lock:
            self.core.on_cancel.remove(self.fn)


class _Core:
    """The part of a call that does not depend on the config's type."""

    def __init__(self, plugin: "Plugin", action: Optional["_Action"], run: RunInfo, host: Optional[Union["_HostClient", "MemoryHost"]] = None,
                 deadline: float = float("inf"), call_id: str = "", events: Optional[Callable[[str, Any], None]] = None) -> None:
        self.plugin, self.action, self.run, self.host = plugin, action, run, host
        self.host_socket = ""  # of a plugin that a person started: where the service of this call's host is
        self.deadline, self.call_id, self.events = deadline, call_id, events
        self.now: Callable[[], float] = time.time
        self.conn = _Connection(plugin)
        self.masks, self.credentials = _Masks(), _Masks()
        self.wrote = False  # a request that is no read was sent
        self.canceled = threading.Event()
        self.on_cancel: List[Callable[[], Any]] = []
        self.lock = threading.RLock()
        self.checkpoint = self.watermark = self.page_note = b""
        self.page_cursor, self.all_pages, self.blobs = "", False, False
        self.next_cursor, self.new_watermark, self.new_note = "", b"", b""
        self.not_tried, self.test_note = False, ""
        self.meta: Dict[str, Any] = {}
        self.logged = self.dropped = 0

    def use(self, conn: "_Connection", document: str) -> None:
        """Binds the call to a connection and learns the secrets to mask."""
        self.conn = conn
        self.masks.add(*conn.secrets, *(_secret_values(self.action.input, document) if self.action else []))
        self.credentials.add(*(s for s in conn.secrets if not _is_credential_address(s)))

    def cancel(self) -> None:
        self.canceled.set()
        with self.lock:
            waiting = list(self.on_cancel)
        for fn in waiting:
            fn()

    def interruptible(self, fn: Callable[[], Any]) -> _Cleanup:
        return _Cleanup(self, fn)

    def over(self) -> bool:
        return self.canceled.is_set() or time.monotonic() >= self.deadline

    def check_time(self) -> None:
        if self.over():
            timed_out = time.monotonic() >= self.deadline
            raise Error(Code.TIMEOUT, "the call ran out of time") if timed_out else Error(Code.CANCELED, "the call was canceled")

    def user_agent(self) -> str:
        return self.conn.user_agent or f"flowrun-{self.plugin.name}/{self.plugin.version}"

    def keyed(self) -> bool:
        return self.action is not None and self.action.effect == _KEYED

    def set_meta(self, key: str, value: Any) -> None:
        try:
            dumps(value)
        except (TypeError, ValueError):
            return  # a fact that is no JSON is not worth a failed call
        with self.lock:
            self.meta[key] = value

    def add_meta(self, response: Response, took: float) -> None:
        self.set_meta("status", response.status)
        self.set_meta("duration_ms", int(took * 1000))
        found = response.headers.get("X-Request-Id") or response.headers.get("X-Correlation-Id")
        if found:
            self.set_meta("request_id", response.shown(found, 128))
        rate: Dict[str, Any] = {}
        for name in ("Limit", "Remaining", "Window", "Reset"):
            text = response.headers.get("X-RateLimit-" + name).strip()
            if text:
                whole = re.match(r"[+-]?[0-9]{1,18}\Z", text)
                rate[name.lower()] = int(text) if whole else response.shown(text, 64)
        if rate:
            self.set_meta("rate", rate)

    def log(self, level: int, message: str, fields: Mapping[str, Any]) -> None:
        held = ""
        if fields:
            try:
                held = self.masks.text(dumps({k: _log_value(v) for k, v in sorted(fields.items())}))
                json.loads(held)
            except (TypeError, ValueError):
                held = ""
            if not held or len(held.encode()) > 64 << 10:
                held = '{"dropped":"the fields are too large or are not JSON"}'
        text = _cut(self.masks.text(message), 64 << 10)
        with self.lock:
            self.logged += len(text.encode()) + len(held.encode())
            if self.logged > 16 * MIB:
                self.dropped += 1
                return
        self.emit("log", (level, text, held.encode()))

    def emit(self, kind: str, payload: Any) -> None:
        if self.events:
            self.events(kind, payload)

    # -- what the host offers

    def ask_host(self, what: str, doing: str, method: str, **fields: Any) -> Any:
        if self.host is None:
            raise Error(Code.UNSUPPORTED, f"the host offers no {what}", applied=Applied.NOT_APPLIED)
        return self.host.call(self, doing, method, fields)

    def token(self, request: TokenRequest) -> Token:
        try:
            return self.acquire(request)
        except BaseException as err:
            error = _as_error(err)
            if not self.wrote:
                error.applied = Applied.NOT_APPLIED  # what the call is for was not begun
            raise error from None

    def acquire(self, request: TokenRequest) -> Token:
        """Asks the host: it answers with a valid token, or with the one lease to refresh it."""
        reject = request.reject
        while True:
            ttl = 100 * 365 * 86400.0 if request.force else request.min_ttl
            answer = self.ask_host("tokens", "get a token", "AcquireToken", connection=self.conn.name, key=request.key,
                                   min_ttl=_duration(ttl), reject=reject)
            which = answer.WhichOneof("result")
            if which == "lease":
                return self.refresh(answer.lease, request)
            if which != "token":
                raise auth_required(f"connection {self.conn.name} has no token")
            self.learn(answer.token)
            if not request.force or reject == answer.token.id:
                return _token(answer.token)
            reject = answer.token.id  # a token that does not expire

    def refresh(self, lease: Any, request: TokenRequest) -> Token:
        """Uses the lease and always ends it: with the new token, durable before it is used, or with the error."""
        stale = _token(lease.stale) if lease.HasField("stale") else None
        if stale:
            self.learn(stale)
        pb, fields = _messages(), {"lease_id": lease.id}  # type: Any, Dict[str, Any]
        fresh: Optional[Token] = None
        failure: Optional[Error] = None
        try:
            fresh = self.renewed(stale, request)
            self.learn(fresh)
            fields["token"] = pb.Token(id=fresh.id, access_token=fresh.access_token, token_type=fresh.token_type,
                                       refresh_token=fresh.refresh_token, extra=fresh.extra, expires_at=_timestamp(fresh.expires_at))
        except BaseException as err:
            failure = _as_error(err)
            if failure.code == Code.TIMEOUT and not self.over():
                failure.code = Code.UNAVAILABLE  # the service's failure, and no end of the call
            fields["error"] = self.proto_error(failure)
        try:
            committed = self.ask_host("tokens", "store the new token", "CommitToken", **fields)
        except Error as error:
            known = isinstance(error, _HostSays)
            raise error if failure is None or known else failure from None
        if committed.HasField("token"):
            self.learn(committed.token)
            said = failure.message if failure else ""
            self.log(3, "the token could not be renewed, and is used for as long as it lasts: " + said, {})
            return _token(committed.token)
        if failure or fresh is None:
            raise failure or Error(Code.INTERNAL, "refresh the token: the plugin gave none")
        return fresh

    def renewed(self, stale: Optional[Token], request: TokenRequest) -> Token:
        if request.refresh is None:
            raise auth_required("there is no valid token and no way to get one")
        try:
            fresh = request.refresh(stale)
        except (Error, Pending):
            raise
        except BaseException as err:
            raise Error(Code.INTERNAL, "refresh the token: the plugin panicked: " + _panic_text(err)) from None
        if not isinstance(fresh, Token) or not fresh.access_token:
            raise Error(Code.INTERNAL, "refresh the token: the plugin gave none")
        kept = stale.refresh_token if stale and not request.replace else ""
        named = fresh.id or hashlib.sha256(fresh.access_token.encode()).hexdigest()[:16]
        return dataclasses.replace(fresh, refresh_token=fresh.refresh_token or kept, id=named)

    def learn(self, token: Any) -> None:
        for masks in (self.masks, self.credentials):
            masks.add(*filter(None, (token.access_token, token.refresh_token)))

    def proto_error(self, error: Error) -> Any:
        mask = self.masks.text
        details: Dict[str, Any] = {"service": self.plugin.name}
        if self.action:
            details["action"] = self.action.name
        details.update(self.masks.data(error.details) or {} if error.details else {})
        encoded = dumps(dict(sorted(details.items()))).encode()
        if len(encoded) > 64 << 10:
            encoded = dumps({"service": self.plugin.name}).encode()
        limiter = error.limiter
        if error.code == Code.RATE_LIMITED and not limiter and self.action and len(self.action.limits) == 1:
            limiter = self.action.limits[0]
        return _messages().Error(
            code=int(error.code), message=_cut(_plain(mask(error.message)), 4096), retry_after=_duration(error.retry_after),
            applied=int(error.applied), reason=_cut(_plain(mask(error.reason)), 256), http_status=max(int(error.http_status), 0),
            pointer=error.pointer, details=encoded, limiter=limiter, hint=_cut(_plain(mask(error.hint)), 4096))


def _log_value(value: Any) -> Any:
    if isinstance(value, BaseException):
        return str(value)
    try:
        dumps(value)
    except (TypeError, ValueError):
        return str(value)
    return value


def _panic_text(err: BaseException) -> str:
    return shown(f"{type(err).__name__}: {err}" if str(err) else type(err).__name__, 1024)


def _as_error(err: BaseException) -> Error:
    """Turns whatever an action raised into an Error: a bug of the plugin unless it says otherwise."""
    if isinstance(err, Error):
        return err
    if isinstance(err, (TimeoutError, socket.timeout)):
        return Error(Code.TIMEOUT, "the call ran out of time")
    if isinstance(err, (StateChanged, Pending)):
        return Error(Code.INTERNAL, str(err))
    return Error(Code.INTERNAL, "the plugin panicked: " + _panic_text(err),
                 hint="this is a bug of the plugin; the log of the step has the place")


class Log:
    """Writes lines into the log of the step. Values of secret fields are masked."""

    def __init__(self, core: _Core) -> None:
        self._core = core

    def debug(self, message: str, **fields: Any) -> None:
        self._core.log(1, message, fields)

    def info(self, message: str, **fields: Any) -> None:
        self._core.log(2, message, fields)

    def warn(self, message: str, **fields: Any) -> None:
        self._core.log(3, message, fields)

    def error(self, message: str, **fields: Any) -> None:
        self._core.log(4, message, fields)


class State:
    """Durable state that the host keeps for the plugin, sealed at rest. Every change is a compare-and-set on the
    version that was read. Safe for concurrent use."""

    def __init__(self, core: _Core, scope: str) -> None:
        self._core, self._scope = core, scope

    def of_plugin(self) -> "State":
        """The state that all connections of the plugin share."""
        return State(self._core, "plugin")

    def of_run(self) -> "State":
        """The state that ends with the run."""
        return State(self._core, "run")

    def get(self, key: str) -> StateEntry:
        """Reads an entry; one that does not exist has version 0."""
        answer = self._core.ask_host("state", f"read state {key}", "GetState", scope=self._scope, key=key)
        return StateEntry(answer.value, answer.version) if answer.found else StateEntry()

    def put(self, key: str, value: bytes, version: int, ttl: float = 0) -> int:
        """Writes a value over the version that was read (0 = a new entry) and returns the new version. ttl 0 keeps it
        for ever. Raises StateChanged."""
        return self._write(key, value=value, if_version=version, ttl=_duration(ttl))

    def delete(self, key: str, version: int) -> None:
        """Removes the version that was read. Raises StateChanged."""
        self._write(key, if_version=version, delete=True)

    def _write(self, key: str, **fields: Any) -> int:
        answer = self._core.ask_host("state", f"write state {key}", "PutState", scope=self._scope, key=key, **fields)
        if not answer.ok:
            raise StateChanged("the state was changed by another call")
        return cast(int, answer.version)


BLOB_PART = MIB
"""How many bytes of a large value are sent, or read, at a time."""


class BlobWriter:
    """Writes a large value in parts of BLOB_PART bytes, each durable when it is sent. Not safe for concurrent use."""

    def __init__(self, core: _Core, upload: str, name: str, media_type: str, sensitive: bool) -> None:
        self._core = core
        self._of = {"upload": upload, "name": name, "media_type": media_type, "sensitive": sensitive}
        self._buffer, self._new_note = bytearray(), b""
        self._put()

    def _put(self, **fields: Any) -> None:
        answer = self._core.ask_host("large values", "write a large value", "PutBlob", **self._of, **fields)
        self._sent, self.note = int(answer.size), bytes(answer.note)
        self.finished: Optional[Blob] = None
        if answer.reference.json:
            self.finished = cast(Blob, _decode(Blob, answer.reference.json.decode(), None, ""))

    @property
    def size(self) -> int:
        """How many bytes of the content there are: where to go on with it. An attempt before this one, perhaps in another
        process, may have sent a part of it; note is what that one has left, finished the value that it has ended."""
        return self._sent + len(self._buffer)

    def set_note(self, note: bytes) -> None:
        """Leaves something for the attempt that goes on, at most 4 KiB: what tells whether the source is still the same,
        such as an ETag. It is as durable as the next part."""
        self._new_note = bytes(note)

    def restart(self) -> None:
        """Begins anew: what was sent is dropped with the next part."""
        self._buffer.clear()
        self._sent, self.note, self.finished = 0, b"", None

    def write(self, data: Union[bytes, bytearray, memoryview]) -> int:
        """Adds bytes. They are sent when a part of them is full."""
        if self.finished:
            raise ValueError("the large value is finished")
        left = memoryview(data)
        while len(left) > 0:
            taken = min(BLOB_PART - len(self._buffer), len(left))
            self._buffer += left[:taken]
            left = left[taken:]
            if len(self._buffer) == BLOB_PART:
                self.flush()
        return len(data)

    def copy(self, source: Any) -> int:
        """Writes what a file or a response gives. What was read before the source failed is sent, so that the next attempt
        goes on behind it."""
        total = 0
        while True:
            try:
                data = source.read(BLOB_PART - len(self._buffer))
            except BaseException:
                self.flush()
                raise
            if not data:
                return total
            total += self.write(data)

    def flush(self) -> None:
        """Sends what was written: it is durable then."""
        if self._buffer or self._new_note:
            self._send(False)

    def _send(self, last: bool) -> None:
        self._put(offset=self._sent, data=bytes(self._buffer), note=self._new_note or None, last=last)
        self._buffer.clear()
        self._new_note = b""

    def finish(self) -> Blob:
        """Sends what is left and ends the value."""
        if self.finished is None:
            self._send(True)
        if self.finished is None:
            raise Error(Code.INTERNAL, "write a large value: the host gave no reference")
        return self.finished


class BlobReader(io.RawIOBase):
    """Reads a large value, in parts when it is read. Not safe for concurrent use."""

    def __init__(self, core: _Core, blob: Blob) -> None:
        self._core, self._digest, self._offset = core, blob.digest, 0
        self._load(0)

    def _load(self, offset: int) -> None:
        answer = self._core.ask_host("large values", "read a large value", "GetBlob", digest=self._digest, offset=offset)
        self._part, self._at, self.size = bytes(answer.data), offset, int(answer.size)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._offset

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        offset += {io.SEEK_SET: 0, io.SEEK_CUR: self._offset, io.SEEK_END: self.size}[whence]
        if offset < 0:
            raise ValueError(f"seek to {offset}")
        self._offset = offset
        return offset

    def readinto(self, buffer: Any) -> int:
        if self.closed:
            raise ValueError("the large value is closed")
        if self._offset >= self.size or len(buffer) == 0:
            return 0
        if not self._at <= self._offset < self._at + len(self._part):
            self._load(self._offset)
        begin = self._offset - self._at
        data = self._part[begin:begin + len(buffer)]
        buffer[:len(data)] = data
        self._offset += len(data)
        return len(data)


class Call(Generic[C]):
    """One call of an action: the connection's config, and what the host offers. Safe for concurrent use until the
    action returns; not to be used after that."""

    def __init__(self, core: _Core) -> None:
        self._core = core
        self.config: C = core.conn.config
        self.run: RunInfo = core.run
        self.log = Log(core)

    @property
    def recipe(self) -> bytes:
        """What Manifest.recipe gave to the connection of this call; b"" where the plugin is not described."""
        return self._core.conn.recipe

    @property
    def http(self) -> HTTPClient:
        """The connection's HTTP client, bound to this call."""
        return HTTPClient(self._core)

    @property
    def connection(self) -> str:
        """The name of the connection, "" for the plugin's default."""
        return self._core.conn.name

    @property
    def connection_name(self) -> str:
        """The connection as flowrun.yaml names it: without a name it is the plugin's own."""
        return self._core.conn.name or self._core.plugin.name

    @property
    def state(self) -> State:
        """The connection's durable state in the host."""
        return State(self._core, "connection/" + self._core.conn.name)

    @property
    def has_blobs(self) -> bool:
        """Whether the call may read and write large values: a host from before has none, and a call outside of a run keeps none."""
        return self._core.blobs

    def new_blob(self, upload: str = "blob", *, name: str = "", media_type: str = "", sensitive: bool = False) -> BlobWriter:
        """Begins a large value, or goes on with one: BlobWriter.size says where. upload names it within the call, the same
        at each attempt. sensitive: it is a secret, sealed at rest; one with a known secret in it is sealed without that."""
        self._need_blobs()
        return BlobWriter(self._core, upload, name, media_type, sensitive)

    def open_blob(self, blob: Blob) -> BlobReader:
        """Reads a large value that the call was given, or has finished."""
        self._need_blobs()
        return BlobReader(self._core, blob)

    def _need_blobs(self) -> None:
        if not self._core.blobs:
            raise Error(Code.UNSUPPORTED, "the host keeps no large values for this call", applied=Applied.NOT_APPLIED,
                        hint="run it in a workflow, with a flowrun that has them")

    @property
    def page_cursor(self) -> str:
        """The cursor of the page to read; "" is the first page, or the input's own cursor."""
        return self._core.page_cursor

    @property
    def all_pages(self) -> bool:
        """Whether the engine reads on to the last page: of the output only the items are kept then."""
        return self._core.all_pages

    @property
    def page_note(self) -> bytes:
        """What the page before left with leave_note; empty on the first."""
        return self._core.page_note

    @property
    def watermark(self) -> bytes:
        """The stored watermark, the same on every page; empty means read everything."""
        return self._core.watermark

    @property
    def checkpoint(self) -> bytes:
        """The checkpoint of the pending answer before."""
        return self._core.checkpoint

    @property
    def canceled(self) -> bool:
        """Whether the host has given the call up, or its time is over."""
        return self._core.over()

    @property
    def seconds_left(self) -> float:
        """How much time the call has."""
        return max(self._core.deadline - time.monotonic(), 0)

    def sleep(self, seconds: float) -> None:
        """Waits, and raises the Error of the end of the call when that comes first."""
        self._core.canceled.wait(min(seconds, max(self._core.deadline - time.monotonic(), 0)))
        self._core.check_time()

    def not_tried(self, why: str) -> None:
        """Says of a check_connection that nothing was asked of the service, and in a few words why."""
        self._core.not_tried, self._core.test_note = True, why

    def progress(self, fraction: float, message: str = "") -> None:
        """Tells how far the call is: fraction is 0 to 1."""
        fraction = min(fraction, 1.0) if fraction >= 0 else 0.0
        self._core.emit("progress", (fraction, _cut(self._core.masks.text(message), 1024)))

    def next(self, cursor: str) -> None:
        """Sets the cursor of the next page; "" says that this is the last one."""
        self._core.next_cursor = cursor

    def leave_note(self, note: bytes) -> None:
        """Leaves something for the call of the next page, at most 4 KiB and no secrets."""
        self._core.new_note = bytes(note)

    def set_watermark(self, mark: bytes) -> None:
        """Sets the watermark to store when the run has succeeded."""
        self._core.new_watermark = bytes(mark)

    def meta(self, key: str, value: Any) -> None:
        """Adds a fact about the call for people: expressions cannot read it."""
        self._core.set_meta(key, value)

    def token(self, request: Optional[TokenRequest] = None) -> Token:
        """A valid access token of the connection; see TokenRequest."""
        return self._core.token(request or TokenRequest())

    def token_of(self, grant: "Grant") -> Token:
        """A valid token of a grant, for a check_connection of a service that has no harmless request. Requests get
        theirs by HTTPClient.with_grant."""
        return self.http._grant_token(grant)

    def access_token(self, settings: TokenSettings) -> str:
        """The connection's access token: the setting `token`, or what the connection named by `token_from` gives; ""
        when neither is set."""
        return self.token().access_token if settings.token_from else settings.token or ""

    def stored_token(self) -> StoredToken:
        """Looks at the connection's token without using or renewing it."""
        answer = self._core.ask_host("tokens", "look at the token", "AcquireToken", connection=self._core.conn.name, peek=True)
        if answer.WhichOneof("result") != "stored":
            raise Error(Code.UNSUPPORTED, "the host can't tell the state of a token", applied=Applied.NOT_APPLIED)
        held = answer.stored
        return StoredToken(held.state, _moment_of(held, "expires_at"), held.renewable, held.extra, held.reason)

    def page_at(self, input: Optional[str]) -> str:
        """The cursor of the page to read: the engine's, else the input's own, else "" for the first page."""
        return self.page_cursor or input or ""

    def page_number(self, input: Optional[int], start: int, pointer: str) -> Optional[int]:
        """The number or index of the page to read: the engine's cursor, else the input's own, else None. start is the
        number of the first page, pointer where the input stands."""
        if not self.page_cursor:
            return input
        number = int(self.page_cursor) if re.match(r"[+-]?[0-9]{1,18}\Z", self.page_cursor) else None
        if number is None or number < start:
            raise invalid(pointer, f"the cursor {_quote(shown(self.page_cursor, 64))} is no number of a page")
        return number

    def cursor_refused(self, error: Error) -> Error:
        """Turns the refusal (400) of a page that the engine's cursor asked for into CURSOR_EXPIRED, after which the
        reading starts again, once."""
        if self.page_cursor and error.http_status == 400:
            error.code = Code.CURSOR_EXPIRED
            error.hint = "the service did not take the cursor of a later page; reading starts again from the first one, once"
        return error

    def read_page(self, response: Response, *, next: Optional[NextPage] = None, list: str = "", list_input: str = "",
                  not_items: Sequence[str] = (), part: Optional[Union[str, bytes]] = None) -> Page:
        """Reads a page out of an answer and tells the engine where the next one is.

        part is the page where it is not the whole answer. list names the list of items: without it the list is the
        page itself, or the one that the first page had, or the only one; where that is not certain it fails and names
        what it found. list_input is the JSON Pointer of the input that may name the list."""
        body = response.document() if part is None else Value(part.encode() if isinstance(part, str) else part)
        page = _ReadPage(response)
        self._find(page, body.decode(), list, list_input, not_items)
        cursor = next.next(page) if next else ""
        if cursor:
            self.next(cursor)
        out = Page(page.items, cursor or None, Value(b"null") if self.all_pages else Value(body.strip()))
        out.total = page.total
        return out

    def _find(self, page: _ReadPage, document: str, name: str, list_input: str, not_items: Sequence[str]) -> None:
        def uncertain(lists: Sequence[str], what: str) -> Error:
            error = page.response.fail(Code.UNEXPECTED_RESPONSE, what).with_hint(_list_hint(lists, list_input))
            error.pointer = list_input
            return error
        sign = document.strip()[:1]
        if sign == "[" and not name:
            page.items = [Value(e.encode()) for e in _elements(document)]
            return
        fields = members(document)
        if fields is None:
            kind = _type_name(_tree(document))
            raise uncertain((), f"the page is {kind} and has no list `{shown(name, 64)}`" if name
                            else f"the page is {kind} where an object with a list, or a list, is due")
        page.fields = dict(fields)
        lists = sorted(k for k, v in fields if v.startswith("[") and k not in not_items)
        named, name = name, name or _noted_list(self.page_note)
        if not name and len(lists) == 1:
            name = lists[0]
        if not name:
            raise uncertain(lists, "which list the page consists of is not known")
        value = page.fields.get(name, "")
        if value != "null" and not value.startswith("["):
            raise uncertain(lists, f"the page has no list `{shown(name, 64)}`")
        page.items = [] if value == "null" else [Value(e.encode()) for e in _elements(value)]
        if not named and len(name.encode()) <= 512:
            self.leave_note(dumps({"list": name}).encode())


def _noted_list(note: bytes) -> str:
    try:
        found = json.loads(note).get("list", "")
        return found if isinstance(found, str) else ""
    except (ValueError, AttributeError):
        return ""  # another's note is none


def _list_hint(lists: Sequence[str], list_input: str) -> str:
    if not lists:
        return "the page has no list at its top level"
    hint = "the page has the lists " + ", ".join(shown(n, 64) for n in lists[:20])
    return f"{hint}: name one with {list_input.lstrip('/')}" if list_input else hint


# ---- grants --------------------------------------------------------------------------------------------------------

_GRANT_MARGIN = 60.0  # seconds that a token must be good still when a request begins
_MAX_LIFETIME = 10 * 365 * 86400.0  # what a server may say of a token's lifetime


@dataclasses.dataclass
class Grant:
    """A way to get access tokens of OAuth 2.0: ClientCredentials or RefreshToken. HTTPClient.with_grant uses it."""

    token_url: str  # of the authorization server, or a path below base_url: "/oauth/token"
    client_id: str
    client_secret: str = ""  # "" = a public client: its id goes in the form
    scopes: Sequence[str] = ()
    in_body: bool = False  # send the credentials in the form instead of with HTTP Basic
    params: Optional[Query] = None  # more of the form, such as audience or resource

    def _key(self) -> str:
        """Which of the connection's tokens it is."""
        raise NotImplementedError

    def _form(self, stale: Optional[Token]) -> Dict[str, Any]:
        """The form of a token request; stale is the token before."""
        raise NotImplementedError

    def _grant_form(self, grant_type: str, **more: str) -> Dict[str, Any]:
        scope = {"scope": " ".join(self.scopes)} if self.scopes else {}
        return {"grant_type": grant_type, **scope, **(self.params or {}), **more}

    def _ask(self, http: HTTPClient, form: Dict[str, Any]) -> Token:
        """Sends a token request (RFC 6749 3.2). It is none of the service's own: it has no header of the client but
        those that it needs, and no idempotency key."""
        bare = http._copy()
        bare._headers, bare._classify, bare._grant, bare._of_token = {}, None, None, True
        request = Request(method="POST", classify=_token_refusal)
        if self.token_url.startswith("/"):
            request.path = self.token_url
        else:
            bare, request.url = bare.with_origin(self.token_url), self.token_url
        if self.in_body or not self.client_secret:
            secret = {"client_secret": self.client_secret} if self.client_secret else {}
            form = {**form, "client_id": self.client_id, **secret}
        else:  # both parts are form-encoded (RFC 6749 2.3.1)
            pair = f"{urllib.parse.quote_plus(self.client_id)}:{urllib.parse.quote_plus(self.client_secret)}"
            request.headers = {"Authorization": "Basic " + base64.b64encode(pair.encode()).decode()}
        request.form = form
        asked = http._core.now()
        try:
            response = bare.do(request)
        except Error as error:
            error.applied = Applied.NOT_APPLIED  # of the call itself nothing was sent
            raise
        return _access_token(response, asked)


@dataclasses.dataclass
class ClientCredentials(Grant):
    """Gets tokens for the plugin itself (RFC 6749 4.4): there is no person, a new one is asked for with the client's
    own credentials."""

    def _key(self) -> str:
        # another client, server or scope in the config is another token
        named = "\n".join([self.token_url, self.client_id, " ".join(self.scopes), _encode_query(self.params)])
        return "client_credentials/" + hashlib.sha256(named.encode()).hexdigest()[:16]

    def _form(self, stale: Optional[Token]) -> Dict[str, Any]:
        return self._grant_form("client_credentials")


@dataclasses.dataclass
class RefreshToken(Grant):
    """Renews the token of a person's consent (RFC 6749 6). The token that is stored is renewed, as a login or the
    renewal before left it; the first time the one of the config. When the authorization server says that the grant is
    gone, the run pauses until somebody has logged in."""

    refresh_token: Optional[str] = None  # of the config, for the first time; None = somebody logs in

    def _key(self) -> str:
        return ""  # the connection's token: what a login stores

    def _form(self, stale: Optional[Token]) -> Dict[str, Any]:
        refresh = stale.refresh_token if stale and stale.refresh_token else self.refresh_token
        if not refresh:
            raise auth_required("there is no refresh token").with_hint("log in, or set the refresh token in the connection's config")
        return self._grant_form("refresh_token", refresh_token=refresh)


def _access_token(response: Response, asked: float) -> Token:
    """Reads an answer of the token endpoint (RFC 6749 5.1). Its lifetime counts from when it was asked for. A failure
    has no excerpt of the answer: there may be a token in it."""
    answer = None if response.document_problem() else _loads(response.body.decode())
    fields: Dict[str, Any] = answer if isinstance(answer, dict) else {"access_token": answer}
    texts = [fields.get(name) for name in ("access_token", "token_type", "refresh_token")]
    if answer is None or any(text is not None and not isinstance(text, str) for text in texts):
        raise response.fail(Code.UNEXPECTED_RESPONSE, "the token endpoint's answer is no token").with_hint("check token_url").without_body()
    access, kind, refresh = (cast(Optional[str], text) for text in texts)
    if not access:
        raise response.fail(Code.UNEXPECTED_RESPONSE, "the token endpoint gave no access_token").with_hint("check token_url").without_body()
    if kind and kind.lower() != "bearer":
        raise response.fail(Code.UNSUPPORTED, "the token is of another type than Bearer, which alone is known").without_body()
    try:
        seconds = min(float(fields.get("expires_in") or 0), _MAX_LIFETIME)  # some servers write a text
    except (TypeError, ValueError):
        seconds = 0.0
    expires = datetime.datetime.fromtimestamp(asked + seconds, datetime.timezone.utc) if seconds > 0 else None
    return Token(access, "Bearer", refresh or "", expires)


# The words of RFC 6749 5.2, what they mean here and what to do.
_GRANT_REFUSALS = {
    "invalid_client": (Code.UNAUTHORIZED, "check client_id and client_secret, and how the server wants them: in the form or with HTTP Basic"),
    "unauthorized_client": (Code.FORBIDDEN, "the client may not use this grant: have it allowed at the authorization server"),
    "access_denied": (Code.FORBIDDEN, "the authorization server refuses this client"),
    "invalid_scope": (Code.INVALID, "check the scopes"),
    "invalid_request": (Code.INVALID, ""),
    "invalid_target": (Code.INVALID, "check the audience or the resource"),
    "unsupported_grant_type": (Code.UNSUPPORTED, "the authorization server does not offer this grant"),
    "invalid_grant": (Code.AUTH_REQUIRED, "log in again, or set a new refresh token in the connection's config"),
    "server_error": (Code.UNAVAILABLE, ""),
    "temporarily_unavailable": (Code.UNAVAILABLE, ""),
    "slow_down": (Code.RATE_LIMITED, ""),
}


def _token_refusal(response: Response) -> Optional[Error]:
    """Reads a refusal by the word that the RFC gives it. What is no such answer, as the page of a proxy, is judged by
    its status and ends no grant."""
    if response.status < 400:
        return None
    _, word = response.words()
    known = _GRANT_REFUSALS.get(word)
    if known is None and response.status == 401:  # no token to renew: the client's credentials are refused
        known = Code.UNAUTHORIZED, _GRANT_REFUSALS["invalid_client"][1]
    if known is None:
        return None
    failure = response.fail(known[0], "the authorization server refuses: " + (word or "401")).with_reason(word)
    return failure.with_hint(known[1]) if known[1] else failure


# ---- plugins -------------------------------------------------------------------------------------------------------

_READ, _IDEMPOTENT, _KEYED, _ONCE = 1, 2, 3, 4  # of Effect


@dataclasses.dataclass
class Limit:
    """A rate limit of the service: requests in a window of seconds. The engine keeps it for all runs and asks it before
    each call; a plugin never waits."""

    name: str
    requests: int
    window: float
    fixed_window: bool = False  # the service counts anew in each window: all at once is allowed
    scope: Sequence[str] = ()  # config fields whose values share one bucket; default base_url
    max_concurrent: int = 0  # 0 = no limit


@dataclasses.dataclass
class Login:
    """The actions by which a person logs in to a connection and out again; README of the protocol, "Logins"."""

    start: str
    wait: str
    status: str = ""
    revoke: str = ""
    scopes: Sequence[str] = ()


@dataclasses.dataclass
class Delivery:
    """The action by which an output of a run goes out where a workflow names a connection alone, and the inputs that take
    its parts as text; README of the protocol, "Deliveries"."""

    action: str  # not a read
    content: str  # input that takes the output
    markdown: str = ""  # input that takes it in place of content where it is Markdown
    path: str = ""  # input that takes what stands behind the connection's name; "" = nothing may stand there
    title: str = ""  # input that takes what the output is called


@dataclasses.dataclass
class Example:
    """A valid input and, where output is given, what it may give. Both are checked against their schemas."""

    name: str
    input: Any
    output: Any = None


@dataclasses.dataclass
class Fault:
    """A failure that the action may end with."""

    code: Code
    reason: str
    doc: str


@dataclasses.dataclass
class Paged:
    """One call is one page: the input that names the first page, the output list that is concatenated ("" = the only
    list), and the output that shows the next cursor. items_named_by is the field that names an item, such as "id";
    items_may_repeat says that each counts, however often it is given."""

    cursor_field: str
    items_field: str
    next_field: str
    items_named_by: str = ""
    items_may_repeat: bool = False


@dataclasses.dataclass
class RangeMax:
    """The input's [from, to) may not be longer than so many hours; with `paginate` the engine cuts longer ranges."""

    from_field: str
    to_field: str
    hours: int


@dataclasses.dataclass
class Reconciled:
    """The answer to "did it happen?". output is given when the effect happened and its result is known."""

    applied: Applied
    output: Any = None
    note: str = ""  # for people


@dataclasses.dataclass
class _Action:
    name: str
    doc: str
    effect: int
    run: Callable[..., Any]
    input_type: Any
    output_type: Any
    takes_input: bool
    limits: Sequence[str] = ()
    paged: Optional[Paged] = None
    range_max: Optional[RangeMax] = None
    incremental: bool = False
    timeout: float = 0
    deprecated: str = ""
    examples: Sequence[Example] = ()
    faults: Sequence[Fault] = ()
    raw_input: Any = None
    raw_output: Any = None
    validators: List[Callable[[Any, List[str]], Iterable[Problem]]] = dataclasses.field(default_factory=list)
    narrowers: List[Callable[[Any, List[str]], Any]] = dataclasses.field(default_factory=list)
    config_checks: List[Callable[[Any, Any, List[str]], Iterable[Problem]]] = dataclasses.field(default_factory=list)
    config_narrowers: List[Callable[[Any, Any, List[str]], Any]] = dataclasses.field(default_factory=list)
    identify: Optional[Callable[[Any, List[str]], str]] = None
    told: bool = False  # of a plugin that describes what it is told
    reconcile: Optional[Callable[..., Reconciled]] = None
    input: _Schema = dataclasses.field(default_factory=_Schema)
    output: _Schema = dataclasses.field(default_factory=_Schema)
    input_text: str = ""
    output_text: str = ""

    def decode(self, document: str, unknown: Sequence[str]) -> Tuple[Any, List[Problem]]:
        """Reads an input strictly, fills in defaults, and runs every check."""
        value, problems = _decode_into(document, self.input, self.input_type, unknown)
        if _first_error(problems):
            return value, problems
        for check in self.validators:
            problems = [*problems, *check(value, list(unknown))]
        return value, problems

    @property
    def looks_at_config(self) -> bool:
        """Whether the action is checked against the config too."""
        return bool(self.config_checks or self.config_narrowers)

    def on_config(self, config: Any, value: Any, unknown: Sequence[str]) -> Tuple[List[Problem], Any]:
        """Checks an input that is good in itself against a config, and narrows the output by it."""
        problems: List[Problem] = []
        for check in self.config_checks:
            problems = [*problems, *check(config, value, list(unknown))]
        narrowed = None
        if _first_error(problems) is None:
            for narrow in self.config_narrowers:
                schema = narrow(config, value, list(unknown))
                narrowed = narrowed if schema is None else schema
        return problems, narrowed

    @property
    def schemas_decide(self) -> bool:
        """Whether validate says of an input no more than what a host reads of the schema, so that nobody has to ask.
        Where that can't be known it is false, and the plugin is asked."""
        rules = self.validators or self.narrowers or self.identify or self.looks_at_config
        if rules or not self.input_text or not _read_alike(self.input):  # an entry of an index has no text
            return False
        return _takes_all(self.input_type, [], self.raw_input is not None)

    def call(self, call: Call[Any], input: Any) -> Any:
        return self.run(call, input) if self.takes_input else self.run(call)


S = TypeVar("S")


@dataclasses.dataclass(frozen=True)
class ToldFile:
    """A file of the project that settings name: pointer is the place of its path in the settings."""
    pointer: str
    path: str
    content: bytes


@dataclasses.dataclass(frozen=True)
class Told(Generic[S]):
    """What a project tells a plugin: `with` of it in flowrun.yaml, under the name that it has there."""
    name: str
    settings: S
    files: Sequence[ToldFile] = ()

    def file(self, pointer: str) -> Optional[ToldFile]:
        """The file that the settings name at a JSON Pointer, such as "/document"."""
        return next((f for f in self.files if f.pointer == pointer), None)


@dataclasses.dataclass
class Entry:
    """What lists show of an action: effect is "read", "idempotent", "keyed" or "once"."""
    name: str
    doc: str
    effect: str = "read"
    limits: Sequence[str] = ()
    paged: Optional[Paged] = None
    range_max: Optional[RangeMax] = None
    incremental: bool = False
    timeout: float = 0
    deprecated: str = ""


@dataclasses.dataclass
class ActionBody:
    """The rest of an action: the JSON Schemas of its input and its output, and a recipe of at most 1 MiB, without
    secrets, which comes back with each call."""
    input: Any
    output: Any
    recipe: bytes = b""
    faults: Sequence[Fault] = ()
    examples: Sequence[Example] = ()


@dataclasses.dataclass
class Manifest:
    """What a plugin makes of what it is told. action makes one of the actions, when somebody uses it. config is the JSON
    Schema of a connection's config, None for that of the Call; recipe comes back with each connection, see
    Call.recipe; warnings are what is not taken of the settings, with pointers into them."""
    actions: Sequence[Entry]
    action: Callable[[str], ActionBody]
    doc: str = ""
    config: Any = None
    recipe: bytes = b""
    limits: Sequence[Limit] = ()
    token_action: str = ""
    login: Optional[Login] = None
    simulator: Sequence[str] = ()
    warnings: Sequence[Problem] = ()


class _NotReady(Exception):
    """What the author of a plugin, or of what calls it, has to mend: FAILED_PRECONDITION."""


class Plugin:
    """A plugin: its actions are given by decorators, and serve() is its main function. Mistakes in its parts (a field
    without a schema, two actions of one name) are told by problems() and refused by serve()."""

    def __init__(self, name: str, version: str, doc: str, *, base_url: str = "", path_prefix: str = "", hosts: Sequence[str] = (),
                 env: Sequence[str] = (), uses_state: bool = False, limits: Sequence[Limit] = (), token_action: str = "",
                 login: Optional[Login] = None, simulator: Sequence[str] = (), delivery: Optional[Delivery] = None) -> None:
        self.name, self.version, self.doc = name, version, doc
        self.base_url, self.path_prefix, self.hosts, self.env = base_url, path_prefix, list(hosts), list(env)
        self.uses_state, self.limits, self.token_action = uses_state, list(limits), token_action
        self.login, self.delivery, self.simulator = login, delivery, list(simulator)
        self._actions: Dict[str, _Action] = {}
        self._config_type: Any = None
        self._config = _Schema("object")
        self._granted: List[_Origin] = []
        self._check: Optional[Callable[[Any], Any]] = None
        self._validate_config: List[Callable[[Any], Iterable[Problem]]] = []
        self._hosts_from: List[Callable[[Any], Iterable[Optional[str]]]] = []
        self._errors: List[str] = []
        self._lock = threading.Lock()
        self._finished = False
        self._described: Optional[_Describer] = None

    # -- parts

    def read(self, name: str = "", doc: str = "", **options: Any) -> Callable[[F], F]:
        """An action without a side effect: it is free to repeat and to cache.

        Options of all actions: limits, paged, range_max, incremental, timeout (seconds), deprecated, examples, faults,
        and input_schema, output_schema in the place of what is read from the annotations. Without a name and a doc an
        action has those of its function."""
        return self._action(_READ, name, doc, options)

    def idempotent(self, name: str = "", doc: str = "", **options: Any) -> Callable[[F], F]:
        """An action that changes something and is safe to repeat."""
        return self._action(_IDEMPOTENT, name, doc, options)

    def keyed(self, name: str = "", doc: str = "", **options: Any) -> Callable[[F], F]:
        """An action that is safe to repeat with the same idempotency key. The HTTP client sends run.idempotency_key as
        Idempotency-Key with every request that is not a read."""
        return self._action(_KEYED, name, doc, options)

    def once(self, name: str = "", doc: str = "", **options: Any) -> Callable[[F], F]:
        """An action that must not be repeated: when its outcome is unknown, the host asks reconcile, else the run
        pauses."""
        return self._action(_ONCE, name, doc, options)

    def _action(self, effect: int, name: str, doc: str, options: Dict[str, Any]) -> Callable[[F], F]:
        options["raw_input"], options["raw_output"] = options.pop("input_schema", None), options.pop("output_schema", None)

        def declare(fn: F) -> F:
            named = name or fn.__name__
            hints = self._hints(f"action {named}", fn)
            parameters = list(inspect.signature(fn).parameters)[1:]
            input_type = hints.get(parameters[0], Any) if parameters else NoInput
            said = doc or " ".join((inspect.getdoc(fn) or "").partition("\n\n")[0].split())
            if named in self._actions:
                self._errors.append(f"action {named!r} is declared twice")
            self._actions[named] = _Action(named, said, effect, fn, input_type, hints.get("return", Any), bool(parameters), **options)
            return fn
        return declare

    def _hints(self, what: str, fn: Callable[..., Any]) -> Dict[str, Any]:
        """The annotations of a function; the config is that of its Call."""
        try:
            hints = typing.get_type_hints(fn, include_extras=True)
        except Exception as err:
            self._errors.append(f"{what}: {err}")
            return {}
        for hint in hints.values():
            args = typing.get_args(hint)
            if typing.get_origin(hint) is Call and args and args[0] is not Any:
                self._use_config(what, args[0])
        return hints

    def _use_config(self, what: str, kind: Any) -> None:
        if self._config_type not in (None, kind):
            self._errors.append(f"{what} uses config {kind.__name__}, but others use {self._config_type.__name__}: a plugin has one config type")
        self._config_type = self._config_type or kind

    def check_connection(self, fn: F) -> F:
        """Says how `flowrun connections test` tries a connection: by one harmless request. It returns what the service
        calls the holder of the credential, or None."""
        self._hints("check_connection", fn)
        self._check = fn
        return fn

    def validate_config(self, fn: F) -> F:
        """Adds a check of the config that annotations can't say: it returns Problems, and uses no network."""
        self._validate_config.append(fn)
        return fn

    def hosts_from(self, fn: F) -> F:
        """Names the hosts and URLs of a config that its credentials may go to besides base_url."""
        self._hosts_from.append(fn)
        return fn

    def validate_with(self, action: str) -> Callable[[F], F]:
        """Adds a check of an action's input that annotations can't say: fn(input, unknown) returns Problems. unknown
        are JSON Pointers of inputs that are not known yet while a workflow is checked."""
        return self._part_of(action, lambda a, fn: a.validators.append(fn))

    def narrow_with(self, action: str) -> Callable[[F], F]:
        """Lets known inputs narrow the output's schema: fn(input, unknown) returns a JSON Schema, or None."""
        return self._part_of(action, lambda a, fn: a.narrowers.append(fn))

    def validate_on(self, action: str) -> Callable[[F], F]:
        """Adds a check of an action's input against the config of its connection: fn(config, input, unknown) returns
        Problems, for connections that declare what an action takes. It runs before each call, and when a workflow is
        checked by a host that knows the connection; secrets of the config are empty then. It uses no network."""
        return self._on_config(action, "validate_on", lambda a, fn: a.config_checks.append(fn))

    def narrow_on(self, action: str) -> Callable[[F], F]:
        """Lets the config of the connection narrow the output's schema, with the known inputs: fn(config, input,
        unknown) returns a JSON Schema, or None."""
        return self._on_config(action, "narrow_on", lambda a, fn: a.config_narrowers.append(fn))

    def narrow_items(self, action: str) -> Callable[[F], F]:
        """Lets known inputs say what tells the items of a paged action apart: fn(input, unknown) returns the name of a
        field, "*" for an item as a whole, "-" where each counts, or "" to leave it as it is declared."""
        return self._part_of(action, lambda a, fn: setattr(a, "identify", fn))

    def _on_config(self, action: str, what: str, add: Callable[[_Action, Any], None]) -> Callable[[F], F]:
        def declare(fn: F) -> F:
            parameters = list(inspect.signature(fn).parameters)
            try:
                kind = typing.get_type_hints(fn).get(parameters[0]) if parameters else None
            except Exception as err:
                self._errors.append(f"{what}: {err}")
                kind = None
            if isinstance(kind, type):
                self._use_config(what, kind)
            return self._part_of(action, add)(fn)
        return declare

    def described(self, describe: Callable[[Any], Manifest], execute: Callable[..., Any], *,
                  validate: Optional[Callable[[bytes, Any, List[str]], Tuple[Iterable[Problem], Any]]] = None,
                  validate_config: Optional[Callable[[bytes, Any], Iterable[Problem]]] = None,
                  reconcile: Optional[Callable[..., Reconciled]] = None) -> None:
        """Makes the plugin one whose actions are made of what a project tells it:
        `plugins: {crm: {source: ./p, with: {document: ./crm.json}}}`.

        describe(told: Told[Settings]) reads what the project tells; it is pure, and an Error with a pointer into the
        settings is shown at that place of flowrun.yaml. Settings are a dataclass; format="project-file" on a text has
        the host read that file. execute(call: Call[Config], recipe, input) makes one call of an action: a process that
        is started for it never sees the settings, only the recipe of the action; its output is held against the
        schema. validate(recipe, input, unknown) returns problems, and a narrowed output schema or None;
        validate_config(recipe, config) and reconcile(call, recipe, input) are as elsewhere. There are no actions
        besides."""
        self._described = _Describer(self, describe, execute, validate, validate_config, reconcile)

    def reconcile_with(self, action: str) -> Callable[[F], F]:
        """Answers "did it happen?" for a call whose answer was lost: fn(call, input) returns Reconciled, and changes
        nothing. An exception counts as unknown."""
        return self._part_of(action, lambda a, fn: setattr(a, "reconcile", fn))

    def _part_of(self, action: str, add: Callable[[_Action, Any], None]) -> Callable[[F], F]:
        def declare(fn: F) -> F:
            found = self._actions.get(action)
            if found is None:
                self._errors.append(f"{fn.__name__}: {action!r} is not an action of the plugin; {_did_you_mean(action, self._actions)}".rstrip("; "))
            else:
                add(found, fn)
            return fn
        return declare

    # -- what it is

    def problems(self) -> List[str]:
        """Every mistake in the plugin's parts."""
        with self._lock:
            if not self._finished:
                self._finished = True
                self._finish()
        return list(self._errors)

    def _finish(self) -> None:
        fail = self._errors.append
        if not _NAME.match(self.name):
            fail(f"plugin name {_quote(self.name)}: use at most 63 lower-case letters, digits and _, a letter first")
        if not self.version:
            fail(f"plugin {self.name} has no version")
        for host in self.hosts:
            try:
                self._granted += _parse_grant(host)
            except ValueError as err:
                fail(f"host {_quote(host)}: {err}")
        try:
            self.base_url and check_base_url(self.base_url)
        except ValueError as err:
            fail(f"default base URL: {err}")
        self._finish_config()
        for limit in self.limits:
            self._finish_limit(limit)
        for action in self._actions.values():
            self._finish_action(action)
        if self._described:
            return self._described.finish()
        if self.token_action and self.token_action not in self._actions:
            fail(f"token action {_quote(self.token_action)} is not an action of the plugin")
        if self.login:
            for part, name in (("start", self.login.start), ("wait", self.login.wait), ("status", self.login.status), ("revoke", self.login.revoke)):
                if name not in self._actions and (name or part in ("start", "wait")):
                    fail(f"the login's {part} {_quote(name)} is not an action of the plugin")
        if self.delivery and self.delivery.action not in self._actions:
            fail(f"the delivery's action {_quote(self.delivery.action)} is not an action of the plugin")

    def _finish_config(self) -> None:
        self._config_type = self._config_type or NoInput
        try:
            self._config = _Reader(closed=True).read(self._config_type)
        except (TypeError, ValueError, NameError) as err:
            self._errors.append(f"config: {err}")
            return
        base = self._config.properties.get("base_url")
        if base and self.base_url:
            self._config.properties["base_url"] = base = base.copy()
            base.default = _text(self.base_url)
            self._config.required = [n for n in self._config.required if n != "base_url"]

    def _finish_limit(self, limit: Limit) -> None:
        if [known.name for known in self.limits].count(limit.name) > 1:
            self._errors.append(f"limiter {_quote(limit.name)} is declared twice")
        if not _NAME.match(limit.name):
            self._errors.append(f"limiter name {_quote(limit.name)}: use at most 63 lower-case letters, digits and _, a letter first")
        if limit.requests < 0 or limit.requests > 0 and limit.window <= 0 or limit.requests == 0 and limit.max_concurrent == 0:
            self._errors.append(f"limiter {_quote(limit.name)}: {limit.requests} requests in {limit.window} s is no limit")
        for field in limit.scope:
            if field not in self._config.properties:
                self._errors.append(f"limiter {limit.name}: scope field {_quote(field)} is not in the config")

    def _finish_action(self, a: _Action) -> None:
        fail = self._errors.append
        if not _NAME.match(a.name):
            fail(f"action name {_quote(a.name)}: use at most 63 lower-case letters, digits and _, a letter first")
        for what, raw, kind in (("input", a.raw_input, a.input_type), ("output", a.raw_output, a.output_type)):
            try:
                if raw is None:
                    schema = _Reader(closed=what == "input").read(kind)
                    text = schema.json()
                else:
                    schema, text = _parse_schema(raw)
                setattr(a, what, schema)
                setattr(a, what + "_text", text)
            except (TypeError, ValueError, NameError) as err:
                fail(f"action {a.name}: {what}: {err}")
        if not a.input.takes("object"):
            fail(f"action {a.name}: its input must be a dataclass")
        if a.identify and not a.paged:
            fail(f"action {a.name}: it says what its items are, and is not Paged")
        for name in a.limits:
            if name not in [known.name for known in self.limits]:
                fail(f"action {a.name}: limiter {_quote(name)} is not declared")
        fields = [("cursor field", a.paged.cursor_field)] if a.paged else []
        fields += [("range field", a.range_max.from_field), ("range field", a.range_max.to_field)] if a.range_max else []
        for what, field in fields:
            if field not in a.input.properties:
                fail(f"action {a.name}: {what} {_quote(field)} is not a field of its input")
        if a.range_max and a.range_max.hours <= 0:
            fail(f"action {a.name}: a range of {a.range_max.hours} hours is none")
        if not self._errors:
            self._check_examples(a)

    def _check_examples(self, a: _Action) -> None:
        for e in a.examples:
            problem = _first_error(a.decode(dumps(e.input), ())[1])
            if problem:
                self._errors.append(f"action {a.name}: example {e.name}: {problem}")
            problem = _first_error(_check(dumps(e.output), a.output, ())[1]) if e.output is not None else None
            if problem:
                self._errors.append(f"action {a.name}: output of the example {e.name}: {problem}")

    def explain(self) -> str:
        """Tells a person what this program is."""
        lines = [f"{self.name} {self.version} is a plugin of flowrun: {self.doc}", "",
                 "flowrun starts it by itself. Name its path in flowrun.yaml:", "", "  plugins:",
                 f"    {self.name}: {{source: ./flowrun-plugin-{self.name}}}", "", "and use its actions in a workflow:", ""]
        lines += [f"  uses: {self.name + '.' + a.name:<28} # {a.doc}" for a in self._actions.values()]
        lines += ["", "With --debug it waits for a flowrun that is told to attach to it, under a debugger or not."]
        problems = self.problems()
        if problems:
            lines += ["", "It cannot run, its author has to mend it:", *problems]
        return "\n".join(lines) + "\n"

    def serve(self) -> None:
        """The main function of a plugin. It returns never: the host ends the process, and the process ends by itself
        when the host is gone. Started by hand it explains itself and exits with 2; with the argument --debug it waits
        for a flowrun that is told to attach to it."""
        by_hand = os.environ.get("FLOWRUN_PLUGIN") != "flowrun.plugin.v1"
        if by_hand and "--debug" not in sys.argv[1:]:
            sys.stderr.write(self.explain())
            sys.exit(2)
        problems = self.problems()
        if problems:
            sys.stderr.write(f"plugin {self.name}: " + "\n".join(problems) + "\n")
            sys.exit(2)
        if by_hand:
            _Process(self).debug()
        else:
            _Process(self).serve()

    def try_action(self, action: str, input: Any = None, *, config: Any = None, host: Optional["MemoryHost"] = None, **given: Any) -> "Tried":
        """Runs one call of an action in this process, for tests of a plugin: with what the host would say (run,
        page_cursor, page_note, all_pages, watermark, checkpoint, blobs). State, tokens and large values are those of a host,
        which other calls may share; uploads go on under the same run.idempotency_key."""
        tried = Tried()

        def note(kind: str, payload: Any) -> None:
            if kind == "log":
                tried.logs.append(payload[1])
        server, core, tried.error = self._try(action, config, host, given, note)
        if tried.error:
            return tried
        outcome, held = server.outcome(core, action, "", dumps(input) if input is not None else "{}")
        if outcome == "completed":
            tried.output = json.loads(held) if held else None
            tried.next_cursor, tried.watermark, tried.page_note, tried.meta = core.next_cursor, core.new_watermark, core.new_note, core.meta
        elif outcome == "pending":
            tried.pending = held
        else:
            tried.error = held
        return tried

    def try_reconcile(self, action: str, input: Any = None, *, config: Any = None, host: Optional["MemoryHost"] = None, **given: Any) -> Reconciled:
        """Asks in this process whether a call happened, for tests of a plugin, see reconcile_with. What the function
        raises is raised."""
        _, core, refusal = self._try(action, config, host, given, lambda kind, payload: None)
        if refusal:
            raise refusal
        document, a = dumps(input) if input is not None else "{}", self._actions[action]
        if a.reconcile is None:
            raise ValueError(f"action {action} has no function that tells whether it happened")
        core.use(core.conn, document)
        value, problems = a.decode(document, ())
        error = _first_error(problems)
        if error:
            raise error
        return a.reconcile(Call(core), value) if a.takes_input else a.reconcile(Call(core))

    def _try(self, action: str, config: Any, host: Optional["MemoryHost"], given: Dict[str, Any],
             events: Callable[[str, Any], None]) -> Tuple["_Server", _Core, Optional[Error]]:
        """A call in this process, on a connection that is opened with a config."""
        problems = self.problems()
        if problems:
            raise ValueError(f"plugin {self.name}: " + "\n".join(problems))
        core = _Core(self, self._actions.get(action), given.pop("run", None) or RunInfo(), host or MemoryHost(), events=events)
        core.blobs, core.call_id = True, core.run.idempotency_key
        for name, value in given.items():
            setattr(core, name, value)
        server = _Server(self)
        opened, found = _Connection.open(self, "", "", dumps(config) if config is not None else "{}")
        if opened:
            server.connections[""] = core.conn = opened
        return server, core, _first_error(found)


class _Describer:
    """A plugin that describes what it is told, without its types. Safe for concurrent use."""

    def __init__(self, plugin: Plugin, describe: Callable[[Any], Manifest], execute: Callable[..., Any],
                 validate: Optional[Callable[[bytes, Any, List[str]], Tuple[Iterable[Problem], Any]]],
                 validate_config: Optional[Callable[[bytes, Any], Iterable[Problem]]],
                 reconcile: Optional[Callable[..., Reconciled]]) -> None:
        self.plugin, self.describe, self.execute, self.validate = plugin, describe, execute, validate
        self.validate_config, self.reconcile = validate_config, reconcile
        self.settings_type: Any = NoInput
        self.settings = _Schema("object")
        self.lock = threading.RLock()
        self.made: Optional[_Made] = None
        self.read: Dict[str, Tuple[bytes, _Action]] = {}
        plugin._hints("execute of described", execute)
        try:
            told = list(typing.get_type_hints(describe).values())[:1]
            self.settings_type = typing.get_args(told[0])[0] if told and typing.get_origin(told[0]) is Told else NoInput
        except Exception as err:
            plugin._errors.append(f"describe: {err}")

    def finish(self) -> None:
        """Derives the settings' schema, and checks what needs the whole plugin."""
        fail = self.plugin._errors.append
        try:
            self.settings = _Reader(closed=True).read(self.settings_type)
        except (TypeError, ValueError, NameError) as err:
            return fail(f"settings: {err}")
        if self.plugin._actions:
            fail(f"action {next(iter(self.plugin._actions))}: a plugin that is described has no actions besides")
        if self.plugin.token_action or self.plugin.login:
            fail("token_action and login of a plugin that is described are parts of its manifest")
        if self.settings.has_secrets():
            fail("settings: they have secrets, which are for the config of a connection")

    def manifest(self, name: str, told: Any) -> "_Made":
        """What was made of settings; the last one is kept, since the actions of an index are asked for behind it."""
        request = _messages().DescribeActionsRequest(name=name, settings=told)
        key = request.SerializeToString(deterministic=True)
        with self.lock:
            if self.made is None or self.made.key != key:
                self.made = _Made(self, key, name, told)
            return self.made

    def action(self, name: str, recipe: bytes) -> _Action:
        """The action that a recipe describes; the last one under a name is kept."""
        if not recipe:
            raise _NotReady("the host hands no recipe back: it is older than the settings of plugins")
        with self.lock:
            known = self.read.get(name)
            if known and known[0] == recipe:
                return known[1]
            described = _messages().Action()
            try:
                described.ParseFromString(recipe)
            except Exception:
                described = _messages().Action()
            if described.name != name:
                raise _NotReady("the recipe is not one of this plugin's")
            made = self.new_action(described)
            self.read[name] = (recipe, made)
            return made

    def new_action(self, described: Any) -> _Action:
        """An action as it was described, which runs what the author gave."""
        recipe = described.recipe
        a = _Action(described.name, described.doc, described.effect, lambda call, value: self.execute(call, recipe, value), Dict[str, Any], Any, True,
                    raw_input=described.input_schema, raw_output=described.output_schema)
        a.input, a.input_text = _parse_schema(a.raw_input)
        a.output, a.output_text = _parse_schema(a.raw_output)
        a.told = True
        if self.validate:
            check = self.validate
            a.validators.append(lambda value, unknown: check(recipe, value, unknown)[0])
            a.narrowers.append(lambda value, unknown: check(recipe, value, unknown)[1])
        if self.reconcile:
            ask = self.reconcile
            a.reconcile = lambda call, value: ask(call, recipe, value)
        return a


class _Made:
    """A manifest that was read: refused is what is wrong with the settings."""

    def __init__(self, of: _Describer, key: bytes, name: str, told: Any) -> None:
        self.of, self.key, self.name = of, key, name
        self.author = Manifest([], lambda name: ActionBody({}, {}))
        self.entries: Dict[str, _Action] = {}
        p = of.plugin
        settings, problems = _decode_into(told.value.json.decode(), of.settings, of.settings_type, ())
        self.refused = _first_error(problems)
        if self.refused is None:
            try:
                self.author = of.describe(Told(name, settings, [ToldFile(f.pointer, f.path, f.content) for f in told.files]))
            except Error as err:
                self.refused = err
            except Exception as err:
                raise _NotReady(f"its author has to mend it: describe what it is told: {_panic_text(err)}") from err
        m = self.author
        self.plugin = Plugin(p.name, p.version, m.doc or p.doc, base_url=p.base_url, hosts=p.hosts, env=p.env, uses_state=p.uses_state,
                             limits=[*p.limits, *m.limits], token_action=m.token_action, login=m.login, simulator=m.simulator or p.simulator)
        self.plugin._config_type = p._config_type
        self.plugin._finish_config()
        self.config_text = self.plugin._config.json()
        if m.config is not None:
            try:
                self.plugin._config, self.config_text = _parse_schema(m.config)
            except (TypeError, ValueError) as err:
                raise _NotReady(f"its author has to mend it: config: {err}") from err
        for limit in self.plugin.limits:
            self.plugin._finish_limit(limit)
        effects = {"read": _READ, "idempotent": _IDEMPOTENT, "keyed": _KEYED, "once": _ONCE}
        for entry in m.actions:
            if entry.name in self.entries or entry.effect not in effects:
                self.plugin._errors.append(f"action {_quote(entry.name)} is declared twice, or has no effect of {', '.join(effects)}")
                continue
            self.entries[entry.name] = _Action(
                entry.name, entry.doc, effects[entry.effect], of.execute, Any, Any, True, limits=list(entry.limits), paged=entry.paged,
                range_max=entry.range_max, incremental=entry.incremental, timeout=entry.timeout, deprecated=entry.deprecated)
        if self.plugin._errors:
            raise _NotReady("its author has to mend it: " + "; ".join(self.plugin._errors))

    def whole(self, server: "_Server", name: str) -> Any:
        """One action of the index, checked as others are; its recipe is the action with the author's in it."""
        entry = self.entries.get(name)
        if entry is None:
            raise _NotReady(f"the index has no action {_quote(shown(name, 64))}")
        body = self.author.action(name)
        a = dataclasses.replace(entry, raw_input=body.input, raw_output=body.output, faults=list(body.faults), examples=list(body.examples), input_type=Dict[str, Any])
        self.plugin._finish_action(a)
        if self.plugin._errors:
            errors, self.plugin._errors = self.plugin._errors, []
            raise _NotReady("; ".join(errors))
        described = server._describe_action(a)
        decided, described.schemas_decide = described.schemas_decide and not self.of.validate, False  # a recipe is what a call needs
        described.recipe = body.recipe
        described.recipe = described.SerializeToString(deterministic=True)
        described.schemas_decide = decided
        return described


def _misfit(a: _Action, held: str) -> Optional[Error]:
    """The failure of a call whose output is not what the action describes: the author passes on what a service says."""
    checker = _Checker(())
    checker.value(_whole_numbers(_tree(held)), a.output, "")
    wrong = _first_error(checker.problems)
    if wrong is None:
        return None
    at = wrong.pointer + ": " if wrong.pointer else ""
    return Error(Code.UNEXPECTED_RESPONSE, f"the answer does not fit the output that {a.name} describes: {at}{wrong.message}",
                 applied=Applied.NOT_APPLIED if a.effect == _READ else Applied.APPLIED, details={"output_pointer": wrong.pointer})


def _whole_numbers(value: Any) -> Any:
    """A document with numbers such as 3320.0 as JSON Schema sees them: as integers."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1 << 53:
        return int(value)
    if isinstance(value, list):
        return [_whole_numbers(v) for v in value]
    if isinstance(value, dict):
        return {k: _whole_numbers(v) for k, v in value.items()}
    return value


@dataclasses.dataclass
class Tried:
    """How a call of Plugin.try_action ended: with an output, pending, or with an error."""

    output: Any = None
    error: Optional[Error] = None
    pending: Optional[Pending] = None
    next_cursor: str = ""
    watermark: bytes = b""
    page_note: bytes = b""
    meta: Dict[str, Any] = dataclasses.field(default_factory=dict)
    logs: List[str] = dataclasses.field(default_factory=list)


class _Connection:
    """One named instance of the plugin's config, with its own network connections."""

    def __init__(self, plugin: Plugin, name: str = "", hash: str = "") -> None:
        self.name, self.hash = name, hash
        self.wire = self.recipe = b""  # the host's, and the author's in it
        self.config: Any = None
        self.base_url = self.user_agent = ""
        self.proxy: Optional[_Proxy] = None
        self.secrets: List[str] = []
        self.granted: List[_Origin] = list(plugin._granted)
        self.pool = _Pool(None)

    @staticmethod
    def open(plugin: Plugin, name: str, hash: str, document: str, wire: bytes = b"") -> Tuple[Optional["_Connection"], List[Problem]]:
        """Decodes and checks a config. It uses no network."""
        shape, recipe = plugin._config, b""
        if plugin._described and wire:
            described = _messages().DescribeResponse()
            try:
                described.ParseFromString(wire)
                shape, recipe = _parse_schema(described.config_schema)[0], described.recipe
            except Exception:
                return None, [Problem("", "the recipe is not one of this plugin's")]
        config, problems = _decode_into(document, shape, plugin._config_type, ())
        if _first_error(problems):
            return None, problems
        conn = _Connection(plugin, name, hash)
        conn.config, conn.wire, conn.recipe = config, wire, recipe
        problems = [*problems, *conn.settle(config), *_token_problems(config)]
        if _first_error(problems):
            return None, problems
        if plugin.path_prefix and conn.base_url.endswith(plugin.path_prefix):
            problems.append(Problem("/base_url", f"must not end in {plugin.path_prefix}", f"write it without {plugin.path_prefix}: the plugin adds it"))
        for check in plugin._validate_config:
            problems = [*problems, *check(config)]
        if plugin._described and plugin._described.validate_config:
            problems = [*problems, *plugin._described.validate_config(recipe, config)]
        url = _URL.parse(conn.base_url)
        if url is not None and url.origin:
            conn.granted.append(url.origin)
        for host in [h for fn in plugin._hosts_from for h in fn(config) if h]:
            try:
                conn.granted += _parse_grant(host)
            except ValueError as err:
                problems = [*problems, Problem("", f"{_quote(shown(host, 128))} {err}")]
        if _first_error(problems):
            return None, problems
        conn.secrets = _secret_values(shape, document)
        return conn, problems

    def settle(self, config: Any) -> List[Problem]:
        """Takes the HTTP settings over, as far as the config has them."""
        problems: List[Problem] = []

        def setting(name: str) -> str:
            value = getattr(config, name, None)
            return value if isinstance(value, str) else ""
        self.user_agent, self.base_url = setting("user_agent"), setting("base_url")
        if self.base_url:
            try:
                self.base_url = check_base_url(self.base_url)
                object.__setattr__(config, "base_url", self.base_url)
            except ValueError as err:
                problems.append(Problem("/base_url", str(err), "write the service's root, such as https://api.example.com"))
        try:
            self.proxy = _proxy_of(setting("proxy")) if setting("proxy") else None
        except ValueError as err:
            problems.append(Problem("/proxy", str(err)))
        ca_file = setting("ca_file")
        if ca_file:
            try:
                with open(ca_file, "rb") as held:
                    ssl.create_default_context().load_verify_locations(cadata=held.read().decode("ascii", "replace"))
                self.pool.ca_file = ca_file
            except OSError as err:
                known = None if isinstance(err, ssl.SSLError) else err.errno
                problems.append(Problem("/ca_file", f"{ca_file} holds no PEM certificate" if known is None else f"{ca_file} can't be read: {_system_words(known)}"))
            except ValueError:
                problems.append(Problem("/ca_file", f"{ca_file} holds no PEM certificate"))
        return problems


def _token_problems(config: Any) -> List[Problem]:
    """Refuses two sources of one token."""
    if getattr(config, "token_from", None) is None or not getattr(config, "token", None):
        return []
    return [Problem("/token_from", "must not be set beside token", "keep one of them")]


# ---- the protocol --------------------------------------------------------------------------------------------------

class _Messages:
    """The messages of plugin.proto, made from the descriptor at the end of this file."""

    def __init__(self) -> None:
        pool_module: Any = importlib.import_module("google.protobuf.descriptor_pool")
        pb2: Any = importlib.import_module("google.protobuf.descriptor_pb2")
        self.factory: Any = importlib.import_module("google.protobuf.message_factory")
        self.pool = pool_module.DescriptorPool()
        files = pb2.FileDescriptorSet.FromString(zlib.decompress(base64.b64decode(_DESCRIPTOR)))
        for file in files.file:
            self.pool.Add(file) if not hasattr(self.pool, "AddSerializedFile") else self.pool.AddSerializedFile(file.SerializeToString())
        self.made: Dict[str, Any] = {}

    def of(self, descriptor: Any) -> Any:
        if hasattr(self.factory, "GetMessageClass"):
            return self.factory.GetMessageClass(descriptor)
        return self.factory.MessageFactory(self.pool).GetPrototype(descriptor)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        full = {"Duration": "google.protobuf.Duration", "Timestamp": "google.protobuf.Timestamp"}.get(name, "flowrun.plugin.v1." + name)
        made = self.made.get(name)
        if made is None:
            made = self.made[name] = self.of(self.pool.FindMessageTypeByName(full))
        return made


@functools.lru_cache(maxsize=None)
def _messages() -> Any:
    return _Messages()


def _duration(seconds: float) -> Any:
    """None for 0: absent on the wire."""
    if seconds <= 0:
        return None
    whole = int(seconds)
    return _messages().Duration(seconds=whole, nanos=int((seconds - whole) * 1e9))


def _timestamp(moment: Optional[datetime.datetime]) -> Any:
    if moment is None:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=datetime.timezone.utc)
    since = moment - datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
    return _messages().Timestamp(seconds=since.days * 86400 + since.seconds, nanos=since.microseconds * 1000)


def _moment_of(message: Any, field: str) -> Optional[datetime.datetime]:
    if not message.HasField(field):
        return None
    held = getattr(message, field)
    return datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc) + datetime.timedelta(seconds=held.seconds, microseconds=held.nanos // 1000)


def _token(t: Any) -> Token:
    return Token(t.access_token, t.token_type, t.refresh_token, _moment_of(t, "expires_at"), t.extra, t.id)


class _HostSays(Error):
    """An Error that the host put into the details of a gRPC status."""


class MemoryHost:
    """A host that keeps state, tokens and large values in memory, for Plugin.try_action. Its token is what a login would have left:
    set it before the first call."""

    def __init__(self, token: Optional[Token] = None) -> None:
        self.tokens: Dict[str, Token] = {"": token} if token else {}  # by TokenRequest.key
        self.entries: Dict[Tuple[str, str], Tuple[int, Optional[bytes]]] = {}
        self.blobs: Dict[str, bytes] = {}  # by digest
        self.uploads: Dict[Tuple[str, str], Tuple[bytes, bytes, str]] = {}  # by idempotency key and upload: content, note, digest
        self.fail_after = 0  # bytes of an upload that the host takes; 0 = all
        self._lock = threading.RLock()

    def put_blob(self, content: bytes, name: str = "", media_type: str = "") -> Blob:
        """Keeps a large value for a call to read, as if another step had given it."""
        digest = "sha256:" + hashlib.sha256(content).hexdigest()
        self.blobs[digest] = content
        return Blob(digest, len(content), media_type, name)

    def call(self, core: _Core, doing: str, method: str, fields: Dict[str, Any]) -> Any:
        with self._lock:
            if method in ("PutBlob", "GetBlob"):
                return getattr(self, "_" + method)(_messages(), core.call_id, **fields)
            return getattr(self, "_" + method)(_messages(), **fields)

    def _PutBlob(self, pb: Any, call: str, upload: str, name: str, media_type: str, sensitive: bool, offset: int = 0, data: bytes = b"",
                 note: Optional[bytes] = None, last: bool = False) -> Any:
        content, kept, digest = self.uploads.get((call, upload), (b"", b"", ""))
        if len(data) > BLOB_PART or len(note or b"") > 4 << 10 or not 0 < len(upload.encode()) <= 200:
            raise Error(Code.INTERNAL, "write a large value: a part has at most 1 MiB, a note 4 KiB, the name of an upload 200 bytes")
        if data and (offset > len(content) or digest and offset):
            raise Error(Code.INTERNAL, f"write a large value: a part at {offset}: {len(content)} bytes are there")
        if self.fail_after and offset + len(data) > self.fail_after:
            raise Error(Code.UNAVAILABLE, "write a large value: the disk is full, a test says")
        if data or note or last:
            if data:
                content, digest = content[:offset] + data, ""
            if last and not digest:
                digest = self.put_blob(content).digest
            self.uploads[call, upload] = content, note or kept, digest
            kept = note or kept
        reference = pb.Value(json=dumps(Blob(digest, len(content), media_type, name)).encode()) if digest else None
        return pb.PutBlobResponse(size=len(content), note=kept, reference=reference)

    def _GetBlob(self, pb: Any, call: str, digest: str, offset: int = 0, length: int = 0) -> Any:
        if digest not in self.blobs:
            raise Error(Code.INTERNAL, "read a large value: the call was not given this large value")
        content = self.blobs[digest]
        return pb.GetBlobResponse(data=content[offset:offset + min(length or BLOB_PART, BLOB_PART)], size=len(content))

    def _GetState(self, pb: Any, scope: str, key: str) -> Any:
        version, value = self.entries.get((scope, key), (0, None))
        return pb.GetStateResponse(found=value is not None, value=value or b"", version=version if value is not None else 0)

    def _PutState(self, pb: Any, scope: str, key: str, if_version: int, value: Optional[bytes] = None, delete: bool = False, ttl: Any = None) -> Any:
        version, held = self.entries.get((scope, key), (0, None))
        if if_version != (version if held is not None else 0):
            return pb.PutStateResponse(ok=False, version=version)
        self.entries[scope, key] = version + 1, None if delete else value or b""
        return pb.PutStateResponse(ok=True, version=version + 1)

    def _AcquireToken(self, pb: Any, connection: str, key: str = "", min_ttl: Any = None, reject: str = "", peek: bool = False) -> Any:
        held = self.tokens.get(key)
        ends = held.expires_at.timestamp() if held and held.expires_at else float("inf")
        if peek:
            state = "none" if held is None else "valid" if ends > time.time() else "expired"
            stored = {"state": state, "renewable": bool(held and held.refresh_token), "expires_at": _timestamp(held.expires_at) if held else None}
            return pb.AcquireTokenResponse(stored=pb.StoredToken(**stored))
        wanted = min_ttl.seconds if min_ttl is not None else 0
        if held and reject != held.id and ends > time.time() + wanted:
            return pb.AcquireTokenResponse(token=self._message(pb, held))
        return pb.AcquireTokenResponse(lease=pb.RefreshLease(id="lease " + key, stale=self._message(pb, held) if held else None))

    def _CommitToken(self, pb: Any, lease_id: str, token: Any = None, error: Any = None) -> Any:
        key = lease_id[len("lease "):]
        if token is not None:
            self.tokens[key] = _token(token)
        elif error.code == int(Code.AUTH_REQUIRED):
            self.tokens.pop(key, None)
        return pb.CommitTokenResponse()

    @staticmethod
    def _message(pb: Any, t: Token) -> Any:
        return pb.Token(id=t.id, access_token=t.access_token, token_type=t.token_type, refresh_token=t.refresh_token, extra=t.extra,
                        expires_at=_timestamp(t.expires_at))


class _HostClient:
    """The host's own service."""

    def __init__(self, address: str, launch_token: str) -> None:
        self.grpc: Any = importlib.import_module("grpc")
        self.launch_token = launch_token
        self.channel = self.grpc.insecure_channel("unix:" + address, options=[
            ("grpc.max_receive_message_length", MAX_MESSAGE_LIMIT), ("grpc.enable_http_proxy", 0)])

    def call(self, core: _Core, doing: str, method: str, fields: Dict[str, Any]) -> Any:
        pb = _messages()
        request = getattr(pb, method + "Request")(**{k: v for k, v in fields.items() if v is not None})
        ask = self.channel.unary_unary(f"/flowrun.plugin.v1.Host/{method}", request_serializer=lambda m: m.SerializeToString(),
                                       response_deserializer=getattr(pb, method + "Response").FromString)
        named = [("flowrun-launch-token", self.launch_token), ("flowrun-run-id", core.run.run_id), ("flowrun-call-id", core.call_id)]
        # a new token must not be lost because the call ended meanwhile
        durable = method == "CommitToken"
        left = 10.0 if durable else core.deadline - time.monotonic()
        future = ask.future(request, metadata=[(k, v) for k, v in named if v], timeout=None if left > 1e9 else max(left, 0))
        try:
            if durable:
                return future.result()
            with core.interruptible(future.cancel):
                return future.result()
        except (self.grpc.RpcError, self.grpc.FutureCancelledError) as err:
            raise self.error(core, doing, err) from None

    def error(self, core: _Core, doing: str, err: Any) -> Error:
        """Turns a failed call of the host into an Error."""
        if core.canceled.is_set():
            return Error(Code.CANCELED, doing + ": the call was canceled")
        status = err.code() if hasattr(err, "code") else self.grpc.StatusCode.CANCELLED
        if status == self.grpc.StatusCode.DEADLINE_EXCEEDED:
            return Error(Code.TIMEOUT, doing + ": no answer in time")
        known = _error_in_status(err)
        if known:
            return known
        code = {"UNIMPLEMENTED": Code.UNSUPPORTED, "INVALID_ARGUMENT": Code.INTERNAL, "PERMISSION_DENIED": Code.INTERNAL,
                "FAILED_PRECONDITION": Code.INTERNAL, "UNAUTHENTICATED": Code.INTERNAL}.get(status.name, Code.UNAVAILABLE)
        return Error(code, f"{doing}: {shown(err.details() or status.name.lower(), 300)}")


class _CallingHost(_HostClient):
    """The service of whichever flowrun makes the call that asks for it: each says with its calls where that is."""

    def __init__(self, launch_token: str) -> None:
        self.grpc = importlib.import_module("grpc")
        self.launch_token = launch_token
        self.hosts: Dict[str, _HostClient] = {}
        self.lock = threading.Lock()

    def call(self, core: _Core, doing: str, method: str, fields: Dict[str, Any]) -> Any:
        if not core.host_socket:
            raise Error(Code.UNSUPPORTED, doing + ": the flowrun that is attached has no service for plugins")
        with self.lock:
            host = self.hosts.get(core.host_socket)
            if host is None:
                host = self.hosts[core.host_socket] = _HostClient(core.host_socket, self.launch_token)
        return host.call(core, doing, method, fields)


def _error_in_status(err: Any) -> Optional[Error]:
    """Reads google.rpc.Status, whose details (field 3) are messages of any type."""
    for name, value in err.trailing_metadata() or () if hasattr(err, "trailing_metadata") else ():
        if name != "grpc-status-details-bin":
            continue
        for number, detail in _wire_fields(value):
            held = dict(_wire_fields(detail)) if number == 3 else {}
            if held.get(1, b"").endswith(b"/flowrun.plugin.v1.Error"):
                return _error_of(_messages().Error.FromString(held.get(2, b"")))
    return None


def _wire_fields(data: bytes) -> Iterator[Tuple[int, bytes]]:
    """The fields of a message that have a length; numbers are passed over."""
    at = 0

    def number() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7
    while at < len(data):
        key = number()
        if key & 7 == 0:
            number()
        elif key & 7 == 2:
            size = number()
            yield key >> 3, data[at:at + size]
            at += size
        else:
            at += 8 if key & 7 == 1 else 4


def _error_of(e: Any) -> Error:
    try:
        details = json.loads(e.details) if e.details else {}
    except ValueError:
        details = {}
    details = details if isinstance(details, dict) else {}
    hint = e.hint or details.get("hint") or ""
    details.pop("hint", None)
    code = Code(e.code) if e.code in list(Code) else Code.INTERNAL
    applied = Applied(e.applied) if e.applied in list(Applied) else Applied.UNKNOWN
    return _HostSays(code, e.message, reason=e.reason, http_status=e.http_status, applied=applied, pointer=e.pointer, limiter=e.limiter,
                     retry_after=e.retry_after.seconds + e.retry_after.nanos / 1e9, hint=hint if isinstance(hint, str) else "", details=details)


class _Server:
    """Serves a plugin's calls. Safe for concurrent use."""

    def __init__(self, plugin: Plugin, host: Optional[_HostClient] = None, limit: int = DEFAULT_MESSAGE_LIMIT) -> None:
        self.plugin, self.host, self.limit = plugin, host, limit
        self.connections: Dict[str, _Connection] = {}
        self.lock = threading.Lock()

    # -- pure calls

    def describe(self, request: Any, context: Any) -> Any:
        pb, p = _messages(), self.plugin
        described = pb.DescribeResponse(
            name=p.name, version=p.version, doc=p.doc, sdk=SDK_VERSION, protocol_minor=PROTOCOL_MINOR, plugin=pb.Capabilities(),
            config_schema=p._config.json().encode(), token_action=p.token_action, simulator=p.simulator,
            wants=pb.Grants(env=p.env, hosts=p.hosts, state=p.uses_state),
            limiters=[pb.Limiter(name=d.name, requests=d.requests, window=_duration(d.window), fixed_window=d.fixed_window,
                                 max_concurrent=d.max_concurrent, scope=d.scope) for d in p.limits],
            actions=[self._describe_action(a) for a in p._actions.values()])
        if any(a.reconcile for a in p._actions.values()):
            described.plugin.features.append("reconcile")
        if any(a.looks_at_config for a in p._actions.values()):
            described.plugin.features.append("validate_config")
        if p.login:
            described.login.CopyFrom(pb.Login(**dataclasses.asdict(p.login)))
        if p.delivery:
            described.delivery.CopyFrom(pb.Delivery(**dataclasses.asdict(p.delivery)))
        return self._describe_told(p._described, request, described) if p._described else described

    def _describe_told(self, d: _Describer, request: Any, described: Any) -> Any:
        """What a plugin is by what it is told; without that, what it can be told."""
        pb = _messages()
        if d.reconcile:
            described.plugin.features.append("reconcile")
        described.plugin.features.extend(["settings", "index"])
        described.settings_schema = d.settings.json().encode()
        if not request.HasField("settings"):
            return described
        made = d.manifest(request.name, request.settings)
        described.name = request.name
        if made.refused:
            described.diagnostics.extend(_diagnostics([Problem(made.refused.pointer, made.refused.message, made.refused.hint)]))
            return described
        own = _Server(made.plugin).describe(pb.DescribeRequest(), None)
        described.doc, described.config_schema, described.token_action = own.doc, made.config_text.encode(), own.token_action
        for field in ("limiters", "simulator"):
            described.ClearField(field)
            getattr(described, field).extend(getattr(own, field))
        if made.plugin.login:
            described.login.CopyFrom(own.login)
        described.diagnostics.extend(_diagnostics(list(made.author.warnings)))
        described.actions.extend(self._describe_action(a) for a in made.entries.values())
        described.recipe = pb.DescribeResponse(name=described.name, config_schema=described.config_schema, recipe=made.author.recipe).SerializeToString(deterministic=True)
        return described

    def describe_actions(self, request: Any, context: Any) -> Any:
        """Makes actions of an index whole."""
        if self.plugin._described is None:
            raise _NotReady("the plugin has no index")
        made = self.plugin._described.manifest(request.name, request.settings)
        if made.refused:
            raise _NotReady(made.refused.message)
        try:
            return _messages().DescribeActionsResponse(actions=[made.whole(self, name) for name in request.actions])
        except Error as err:
            raise _NotReady(err.message) from err

    def action(self, name: str, recipe: bytes) -> Optional[_Action]:
        """An action by its name: of the plugin, or of the recipe that the host hands back."""
        if self.plugin._described:
            return self.plugin._described.action(name, recipe)
        return self.plugin._actions.get(name)

    def _describe_action(self, a: _Action) -> Any:
        pb = _messages()
        described = pb.Action(
            name=a.name, doc=a.doc, effect=a.effect, input_schema=a.input_text.encode(), output_schema=a.output_text.encode(),
            default_timeout=_duration(a.timeout), limiters=a.limits, incremental=a.incremental, deprecated=a.deprecated,
            faults=[pb.Fault(code=int(f.code), reason=f.reason, doc=f.doc) for f in a.faults],
            examples=[pb.Example(name=e.name, input=dumps(e.input).encode(), output=b"" if e.output is None else dumps(e.output).encode())
                      for e in a.examples])
        if a.paged:
            identity = "-" if a.paged.items_may_repeat else a.paged.items_named_by or "*"
            described.paging.CopyFrom(pb.Paging(cursor_field=a.paged.cursor_field, items_field=a.paged.items_field,
                                                next_field=a.paged.next_field, identity=identity))
        if a.range_max:
            described.range.CopyFrom(pb.Range(from_field=a.range_max.from_field, to_field=a.range_max.to_field,
                                              max=_duration(a.range_max.hours * 3600)))
        described.schemas_decide = a.schemas_decide
        return described

    def validate(self, request: Any, context: Any) -> Any:
        pb, a = _messages(), self.action(request.action, request.recipe)
        if a is None:
            return pb.ValidateResponse(diagnostics=_diagnostics([self._no_action(request.action)]))
        unknown = _unknown_set(request.unknown)
        value, problems = a.decode(request.input.json.decode(), unknown)
        response = pb.ValidateResponse(diagnostics=_diagnostics(problems))
        if _first_error(problems) is None:
            for narrow in a.narrowers:
                narrowed = narrow(value, list(unknown))
                if narrowed is not None:
                    response.output_schema = _schema_bytes(narrowed)
            if a.identify:
                response.paging_identity = a.identify(value, list(unknown))
            self._validate_on(a, request, value, unknown, response)
        return response

    def _validate_on(self, a: _Action, request: Any, value: Any, unknown: Sequence[str], response: Any) -> None:
        """Goes on with a question that comes with the config of a connection."""
        if not request.HasField("config") or not a.looks_at_config:
            return
        missing = _unknown_set(request.config_unknown)
        config, wrong = _decode_into(request.config.json.decode(), self.plugin._config, self.plugin._config_type, missing)
        if _first_error(wrong) is None and not missing:  # rules across fields may need the secrets
            for check in self.plugin._validate_config:
                wrong = [*wrong, *check(config)]
        refused = _first_error(wrong)
        if refused:
            at = refused.pointer + " " if refused.pointer else ""
            problem = Problem("", f"connection `{shown(request.connection, 64)}`: its config is wrong: {at}{refused.message}", refused.hint)
            response.diagnostics.extend(_diagnostics([problem]))
            return
        problems, narrowed = a.on_config(config, value, unknown)
        response.diagnostics.extend(_diagnostics(problems))
        if narrowed is not None:
            response.output_schema = _schema_bytes(narrowed)

    def _no_action(self, name: str) -> Problem:
        return Problem("", f"plugin {self.plugin.name} has no action `{shown(name, 64)}`", _did_you_mean(name, self.plugin._actions))

    # -- connections

    def connect(self, request: Any, context: Any) -> Any:
        name, hash = request.connection, request.config_hash
        known = self.connections.get(name)
        if known and hash and known.hash == hash and known.wire == request.recipe:
            return _messages().ConnectResponse()
        opened, problems = _Connection.open(self.plugin, name, hash, request.config.json.decode(), request.recipe)
        if opened:
            with self.lock:
                replaced, self.connections[name] = self.connections.get(name), opened
            if replaced:
                replaced.pool.close()
        return _messages().ConnectResponse(diagnostics=_diagnostics(problems))

    def connection(self, name: str) -> _Connection:
        """An open connection. A plugin whose config needs nothing works without connect."""
        known = self.connections.get(name)
        if known:
            return known
        if name:
            raise Error(Code.INTERNAL, f"connection {_quote(name)} is not open", applied=Applied.NOT_APPLIED)
        opened, problems = _Connection.open(self.plugin, "", "", "{}")
        error = _first_error(problems)
        if error or opened is None:
            error = error or invalid("", "it has no config")
            error.message, error.pointer = "the plugin needs a connection: " + error.message, ""
            raise error.with_hint("add one to flowrun.yaml and name it in the step")
        with self.lock:
            return self.connections.setdefault("", opened)

    def check_connection(self, request: Any, context: Any) -> Any:
        pb, core = _messages(), self.core(context, None, None)
        try:
            core.use(self.connection(request.connection), "{}")
            account = None
            if self.plugin._check is None:
                core.not_tried = True
            else:
                account = self.plugin._check(Call(core))
        except BaseException as err:
            error = _as_error(err)
            return pb.CheckConnectionResponse(error=core.proto_error(error))
        return pb.CheckConnectionResponse(account=core.masks.text(_plain(str(account or ""))), not_tried=core.not_tried,
                                          note=core.masks.text(_plain(core.test_note)))

    # -- actions

    def core(self, context: Any, action: Optional[_Action], run: Any, events: Optional[Callable[[str, Any], None]] = None) -> _Core:
        """A call, which ends when the host gives it up."""
        left = context.time_remaining()
        deadline = float("inf") if left is None or left > 1e9 else time.monotonic() + left
        named = [v for k, v in context.invocation_metadata() if k == "flowrun-call-id"]
        info = RunInfo()
        if run is not None:
            info = RunInfo(run.workflow, run.run_id, run.step_id, run.attempt, run.idempotency_key, _moment_of(run, "scheduled_at"), run.traceparent)
        core = _Core(self.plugin, action, info, self.host, deadline, named[0] if len(named) == 1 else "", events)
        asking = [v for k, v in context.invocation_metadata() if k == "flowrun-host-socket"]
        core.host_socket = asking[0] if len(asking) == 1 else ""
        if not context.add_callback(core.cancel):
            core.cancel()
        return core

    def execute(self, request: Any, context: Any) -> Iterator[Any]:
        """Runs one attempt of one page in a thread of its own: any number of logs and progress, then one end."""
        events: "queue.Queue[Any]" = queue.Queue(maxsize=1024)
        gone = threading.Event()

        def put(kind: str, payload: Any) -> None:
            while not gone.is_set():
                try:
                    return events.put((kind, payload), timeout=0.5)
                except queue.Full:
                    continue
        unread: Optional[_NotReady] = None
        try:
            action = self.action(request.action, request.recipe)
        except _NotReady as err:
            action, unread = None, err
        core = self.core(context, action, request.run, put)
        core.checkpoint, core.page_cursor, core.watermark = request.checkpoint, request.page_cursor, request.watermark
        core.page_note, core.all_pages, core.blobs = request.page_note, request.all_pages, request.blobs
        context.add_callback(gone.set)

        def work() -> None:
            try:
                if unread:
                    raise Error(Code.INTERNAL, str(unread), applied=Applied.NOT_APPLIED)
                end = self.end(core, request)
            except BaseException as err:  # of the SDK itself
                end = _messages().ExecuteEvent(failed=core.proto_error(_as_error(err)))
            put("end", end)
        threading.Thread(target=work, daemon=True, name="call").start()
        while True:
            try:
                kind, payload = events.get(timeout=1)
            except queue.Empty:
                if gone.is_set():
                    return
                continue
            yield _event(kind, payload)
            if kind == "end":
                return

    def end(self, core: _Core, request: Any) -> Any:
        pb = _messages()
        outcome, held = self.outcome(core, request.action, request.connection, request.input.json.decode() or "{}")
        if core.dropped:
            core.logged = 0
            core.log(3, "log lines were dropped: the call wrote too many", {"dropped": core.dropped})
        if outcome == "pending":
            return pb.ExecuteEvent(pending=_proto_pending(core, held))
        if outcome == "failed":
            return pb.ExecuteEvent(failed=core.proto_error(held))
        assert core.action is not None
        try:
            sensitive = [at for at, _ in core.action.output.secrets_in(held)]
            completed = pb.Completed(output=pb.Value(json=held.encode(), sensitive=sensitive), next_cursor=core.next_cursor,
                                     watermark=core.new_watermark, page_note=core.new_note)
        except (TypeError, ValueError) as err:
            return pb.ExecuteEvent(failed=core.proto_error(Error(Code.INTERNAL, f"encode the output: {err}", applied=self.happened(core))))
        meta = core.masks.text(dumps(dict(sorted(core.meta.items())))).encode() if core.meta else b""
        if len(meta) <= 64 << 10:
            completed.meta = meta
        event = pb.ExecuteEvent(completed=completed)
        if event.ByteSize() > self.limit:
            return pb.ExecuteEvent(failed=core.proto_error(Error(
                Code.UNEXPECTED_RESPONSE, f"the output has {event.ByteSize()} bytes, more than the limit of {self.limit}",
                applied=self.happened(core), hint="ask for less, or for smaller pages")))
        return event

    @staticmethod
    def happened(core: _Core) -> Applied:
        """What is known of the effect of an action that returned: it happened, where there is one."""
        return Applied.NOT_APPLIED if core.action and core.action.effect == _READ else Applied.APPLIED

    def outcome(self, core: _Core, action: str, connection: str, document: str) -> Tuple[str, Any]:
        """Checks the input and runs the author's function: how the call ended, and with what."""
        try:
            if core.action is None:
                missing = self._no_action(action)
                raise Error(Code.UNSUPPORTED, missing.summary, hint=missing.detail, applied=Applied.NOT_APPLIED)
            core.use(self.connection(connection), document)
            value, problems = core.action.decode(document, ())
            if _first_error(problems) is None and core.action.looks_at_config:
                problems = [*problems, *core.action.on_config(core.conn.config, value, ())[0]]
            error = _first_error(problems)
            if error:
                raise error
            for p in problems if not core.page_cursor and core.run.attempt <= 1 else []:
                core.log(3, p.summary, {"pointer": p.pointer})
            output = core.action.call(Call(core), value)
        except Pending as pending:
            return "pending", pending
        except BaseException as err:
            return "failed", self.failure(core, err)
        try:
            held = dumps(output)
        except (TypeError, ValueError, RecursionError) as err:
            return "failed", Error(Code.INTERNAL, f"encode the output: {err}", applied=self.happened(core))
        misfit = _misfit(core.action, held) if core.action.told else None
        return ("failed", misfit) if misfit else ("completed", held)

    @staticmethod
    def failure(core: _Core, err: BaseException) -> Error:
        """The failure of a call. The stack of an exception that nobody meant goes to the log."""
        error = _as_error(err)
        if error is not err and error.message.startswith("the plugin panicked"):
            if core.over() and isinstance(err, (OSError, futures.CancelledError)):
                return Error(Code.CANCELED if core.canceled.is_set() else Code.TIMEOUT, "the call was canceled" if core.canceled.is_set() else "the call ran out of time")
            stack = "".join(traceback.format_exception(type(err), err, err.__traceback__))
            core.log(4, error.message, {"stack": _cut(stack, 8 << 10)})
        return error

    def reconcile(self, request: Any, context: Any) -> Any:
        pb, a = _messages(), self.action(request.action, request.recipe)
        if a is None or a.reconcile is None:
            return pb.ReconcileResponse(note="the plugin cannot tell")
        core = self.core(context, a, request.run)
        core.checkpoint = request.checkpoint
        document = request.input.json.decode() or "{}"
        try:
            core.use(self.connection(request.connection), document)
            value, problems = a.decode(document, ())
            error = _first_error(problems)
            if error:
                return pb.ReconcileResponse(note=core.masks.text(error.message))
            answer = a.reconcile(Call(core), value) if a.takes_input else a.reconcile(Call(core))
            response = pb.ReconcileResponse(applied=int(answer.applied), note=core.masks.text(shown(answer.note, 1024)))
            if answer.output is not None:
                held = dumps(answer.output)
                response.output.json = held.encode()
                response.output.sensitive.extend(at for at, _ in a.output.secrets_in(held))
                if response.ByteSize() > self.limit:
                    response.ClearField("output")
                    response.note += " (its output cannot be sent)"
            return response
        except BaseException as err:
            error = _as_error(err)
            said = str(error) if error is err else error.message
            return pb.ReconcileResponse(note=core.masks.text(shown(core.masks.text(said), 1024)))


def _schema_bytes(schema: Any) -> bytes:
    """A schema that an author gave as bytes, as a text, or as what JSON is made of."""
    return schema if isinstance(schema, bytes) else schema.encode() if isinstance(schema, str) else dumps(schema).encode()


def _diagnostics(problems: Sequence[Problem]) -> List[Any]:
    make = _messages().Diagnostic
    return [make(severity=2 if p.warning else 1, summary=_clean(p.summary), detail=_clean(p.detail), pointer=_clean(p.pointer)) for p in problems]


def _proto_pending(core: _Core, p: Pending) -> Any:
    pb = _messages()
    message = _cut(core.masks.text(_plain(p.message)), 4096)
    pending = pb.Pending(retry_after=_duration(p.retry_after), checkpoint=p.checkpoint, message=message)
    if p.prompt:
        q = p.prompt
        pending.prompt.CopyFrom(pb.Prompt(title=q.title, url=q.url, user_code=q.user_code, expires_at=_timestamp(q.expires_at), message=q.message))
    return pending


def _event(kind: str, payload: Any) -> Any:
    pb = _messages()
    if kind == "log":
        level, message, fields = payload
        now = datetime.datetime.now(datetime.timezone.utc)
        return pb.ExecuteEvent(log=pb.Log(level=level, message=message, fields=fields, time=_timestamp(now)))
    if kind == "progress":
        return pb.ExecuteEvent(progress=pb.Progress(fraction=payload[0], message=payload[1]))
    return payload


# ---- the process ---------------------------------------------------------------------------------------------------

class _Process:
    """A plugin's process as the host starts it: README of the protocol, "Start" and "End"."""

    def __init__(self, plugin: Plugin) -> None:
        self.plugin = plugin

    def serve(self) -> None:
        threading.Thread(target=_end_with_host, daemon=True, name="lifeline").start()
        sys.setrecursionlimit(max(sys.getrecursionlimit(), 6000))
        os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # the host shows what stands on stderr
        token = _launch_token()
        _close_memory()
        grpc = _library("grpc")
        _library("google.protobuf")
        address = os.environ.get("FLOWRUN_HOST_SOCKET", "")
        listener = self.listener(grpc, token, _HostClient(address, token) if address else None)
        folder = os.environ.get("PLUGIN_UNIX_SOCKET_DIR") or os.environ.get("TMPDIR") or None
        path = os.path.join(tempfile.mkdtemp(prefix="p", dir=folder), "s")
        listener.add_insecure_port("unix:" + path)
        listener.start()
        sys.stdout.flush()
        held = os.dup(1)  # stays open: its end would say that the plugin has ended
        os.write(held, f"1|1|unix|{path}|grpc|\n".encode())
        os.dup2(2, 1)  # what the plugin prints belongs on stderr
        sys.stdout = sys.stderr
        listener.wait_for_termination()

    def debug(self) -> None:
        """Serves the plugin at an address until a signal ends it: the process is the person's own, under a debugger or
        not, so that it has no lifeline and outlives each flowrun that is attached to it."""
        import shutil
        import signal
        sys.setrecursionlimit(max(sys.getrecursionlimit(), 6000))
        os.environ.setdefault("GRPC_VERBOSITY", "NONE")
        grpc = _library("grpc")
        _library("google.protobuf")
        token = os.urandom(32).hex()
        folder = _debug_folder()
        try:
            with open(os.open(os.path.join(folder, "token"), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as held:
                held.write(token)
            listener = self.listener(grpc, token, _CallingHost(token))
            address = os.path.join(folder, "plugin.sock")
            listener.add_insecure_port("unix:" + address)
            listener.start()
            os.chmod(address, 0o600)  # nobody else enters the folder
            _tee_stderr(os.path.join(folder, "stderr"))
            for number in (signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, _interrupt)
            name = self.plugin.name
            print(f"{name} {self.plugin.version} waits for flowrun (process {os.getpid()}):\n\n"
                  f"  flowrun run --attach {name}={address} WORKFLOW\n\n"
                  "call and serve take --attach too. It goes on when flowrun has ended; Ctrl-C ends it.", flush=True)
            listener.wait_for_termination()
        except KeyboardInterrupt:
            pass
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(0)  # calls that are still at work end with it

    def listener(self, grpc: Any, token: str, host: Optional["_HostClient"]) -> Any:
        """A server with the plugin's services, which takes calls with the token alone."""
        server = _Server(self.plugin, host, _message_limit())
        listener = grpc.server(futures.ThreadPoolExecutor(max_workers=256), interceptors=[_guard(grpc, token)], options=[
            ("grpc.max_receive_message_length", MAX_MESSAGE_LIMIT), ("grpc.so_reuseport", 0),
            ("grpc.max_send_message_length", max(server.limit, DEFAULT_MESSAGE_LIMIT))])
        for name, handlers in self.services(grpc, server).items():
            listener.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(name, handlers),))
        return listener

    def services(self, grpc: Any, server: _Server) -> Dict[str, Dict[str, Any]]:
        pb = _messages()

        def unary(fn: Callable[[Any, Any], Any], name: str) -> Any:
            return grpc.unary_unary_rpc_method_handler(_contained(grpc, fn), request_deserializer=getattr(pb, name + "Request").FromString,
                                                       response_serializer=lambda m: m.SerializeToString())

        def health(request: bytes, context: Any) -> bytes:
            if request not in (b"", b"\n\x06plugin"):
                context.abort(grpc.StatusCode.NOT_FOUND, "unknown service")
            return b"\x08\x01"

        def shut_down(request: bytes, context: Any) -> bytes:
            threading.Timer(0.05, os._exit, [0]).start()
            return b""
        return {
            "flowrun.plugin.v1.Plugin": {
                "Describe": unary(server.describe, "Describe"), "Validate": unary(server.validate, "Validate"),
                "Connect": unary(server.connect, "Connect"), "CheckConnection": unary(server.check_connection, "CheckConnection"),
                "Reconcile": unary(server.reconcile, "Reconcile"), "DescribeActions": unary(server.describe_actions, "DescribeActions"),
                "Execute": grpc.unary_stream_rpc_method_handler(server.execute, request_deserializer=pb.ExecuteRequest.FromString,
                                                                response_serializer=lambda m: m.SerializeToString()),
            },
            "grpc.health.v1.Health": {"Check": grpc.unary_unary_rpc_method_handler(health)},
            "plugin.GRPCController": {"Shutdown": grpc.unary_unary_rpc_method_handler(shut_down)},
        }


def _interrupt(_number: int, _frame: Any) -> None:
    raise KeyboardInterrupt


def _debug_folder() -> str:
    """Makes a folder that nobody else can enter: the token lies in it. The path of a socket is short."""
    folder = tempfile.mkdtemp(prefix="flowrun-debug-")
    if len(folder) + len("/plugin.sock") > 100:
        os.rmdir(folder)
        folder = tempfile.mkdtemp(prefix="flowrun-debug-", dir="/tmp")
    return folder


def _tee_stderr(path: str) -> None:
    """Has what the process writes to stderr written to a file too, for the flowrun that is attached: also what is written
    as the process dies, since a process of its own stands between. Without a `tee` flowrun sees nothing of it."""
    import subprocess
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    read, write = os.pipe()
    try:
        # -i: Ctrl-C is for the plugin, whose last words it still writes
        subprocess.Popen(["tee", "-ia", path], stdin=read, stdout=2)
        sys.stderr.flush()
        os.dup2(write, 2)
    except OSError:
        pass
    finally:
        os.close(read)
        os.close(write)


def _library(name: str) -> Any:
    """Loads a library, or says to whoever reads stderr how to get it."""
    try:
        return importlib.import_module(name)
    except ImportError as err:
        sys.stderr.write(f"{sys.executable} has no {name} ({err}): a plugin in Python needs grpcio and protobuf. "
                         "apt-get install python3-grpcio python3-protobuf, or pip install grpcio protobuf\n")
        sys.exit(2)


def _contained(grpc: Any, fn: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def call(request: Any, context: Any) -> Any:
        try:
            return fn(request, context)
        except _NotReady as err:
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, str(err))
        except BaseException as err:
            context.abort(grpc.StatusCode.INTERNAL, "the plugin panicked: " + _panic_text(err))
    return call


def _guard(grpc: Any, token: str) -> Any:
    """Refuses calls without the launch token. An empty one lets everything in: then nobody set one."""

    class Guard(grpc.ServerInterceptor):  # type: ignore[misc]
        def intercept_service(self, go_on: Any, details: Any) -> Any:
            presented = [v for k, v in details.invocation_metadata if k == "flowrun-launch-token"]
            if not token or len(presented) == 1 and hmac.compare_digest(presented[0].encode(), token.encode()):
                return go_on(details)
            return grpc.unary_unary_rpc_method_handler(
                lambda _, context: context.abort(grpc.StatusCode.UNAUTHENTICATED, "the launch token is missing or wrong"))
    return Guard()


def _launch_token() -> str:
    """Reads the token from the descriptor that the host names, to its end; older hosts put it into the environment."""
    descriptor = os.environ.get("FLOWRUN_LAUNCH_TOKEN_FD", "")
    if not descriptor:
        return os.environ.get("FLOWRUN_LAUNCH_TOKEN", "")
    try:
        with os.fdopen(int(descriptor), "rb") as held:
            return held.read(4096).decode()
    except (OSError, ValueError) as err:
        sys.stderr.write(f"read launch token: {err}\n")
        sys.exit(2)


def _message_limit() -> int:
    text = os.environ.get("FLOWRUN_MESSAGE_LIMIT", "")
    return min(int(text), MAX_MESSAGE_LIMIT) if text.isascii() and text.isdigit() and int(text) else DEFAULT_MESSAGE_LIMIT


def _end_with_host() -> None:
    """Reads the lifeline. Its end means that the host is gone: then the process ends at once."""
    try:
        while os.read(0, 512):
            pass
    except OSError:
        pass
    os._exit(0)


def _close_memory() -> None:
    """Closes the process's memory and environment to other processes of the same user; it writes no core either."""
    try:
        ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE
    except (OSError, AttributeError):
        pass  # not Linux: it is open as before


# ---- one file ------------------------------------------------------------------------------------------------------

def pack(plugin: str, into: str) -> None:
    """Makes one executable file of a plugin and this SDK: the same bytes for the same files. What is beside the plugin
    and ends in .py goes along, where plugin is a folder with a __main__.py."""
    import importlib.util
    import io
    import marshal
    import zipfile
    here = os.path.abspath(__file__)
    if os.path.isdir(plugin):
        files = {os.path.relpath(os.path.join(at, n), plugin): os.path.join(at, n)
                 for at, _, names in os.walk(plugin) for n in names if n.endswith(".py") and not n.startswith("test_")}
    else:
        files = {"__main__.py": plugin}
    files["flowrun.py"] = here
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            with open(files[name], "rb") as held:
                source = held.read()
            compiled = compile(source, name, "exec", dont_inherit=True)
            head = bytes(importlib.util.MAGIC_NUMBER) + (1).to_bytes(4, "little") + bytes(importlib.util.source_hash(source))
            for entry, data in ((name, source), (name + "c", head + marshal.dumps(compiled))):
                archive.writestr(zipfile.ZipInfo(entry, (1980, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)
    with open(into, "wb") as file:
        file.write(b"#!/usr/bin/env python3\n" + out.getvalue())
    os.chmod(into, 0o755)


def main(args: List[str]) -> int:
    """python3 flowrun.py pack PLUGIN [FILE]"""
    if len(args) not in (2, 3) or args[0] != "pack":
        sys.stderr.write("usage: python3 flowrun.py pack PLUGIN.py|FOLDER [FILE]\n")
        return 2
    base = os.path.splitext(os.path.basename(os.path.normpath(args[1])))[0]
    into = args[2] if len(args) == 3 else "flowrun-plugin-" + base
    try:
        pack(args[1], into)
    except (OSError, SyntaxError) as err:
        sys.stderr.write(f"pack {args[1]}: {err}\n")
        return 1
    print(into)
    return 0


# ---- the descriptor ------------------------------------------------------------------------------------------------

# plugin.binpb of the protocol, packed; made by `UPDATE=1 go test ./test/python -run Descriptor`
_DESCRIPTOR = b"""
eNrUWs1zI1lS79K30rKsrvb0aDw93T3VzEzTE+H+GHa+dgmQrXJbtFvSPsvdPRMEolz1JNe6VKWpevIHFwg+giMH4MSJvUBsBBf2xB+wwQWCIydOnIjg
wJEIICDyfVSV5JLt3uCyJ1Vm/d57mfky82W+EvyXBnfHQTD26ONpGLDgcDZ67MxCi7mBv8k5+pp4v6neG19DpS0hehPKEbUD34ma2n3tYZ4oUl+Hom/5
QdTM3dceFokgtv5Ag1t2MNlcmHNrVc3YR05f+/apRIwDz/LHm0E4TgRk51MaPT72g1M/FnZ6+J+a9uNc/nl/6ye5u8/F4L4csfmaet4LxA9w6GGJT/UZ
/K8G9xa1Z+6ERsyaTJep/32oDhTmrfX/oyX61+MplQGeXdMAsbw/lwV+9hrujrzgNJz5j6febOz6j0+eyidpgJvy/abknjzduMJlNq4yqvEVFF9Z3ozq
OhR+FAU+N16N8Gf9DlQj6kcuc09oM3c//7BKEobxCGrb1tQ6dD2XuTTSN6AyohabhRS3AMExbfyLBmttGtmhe0gJ/W5GI6Z/CLWjIGLDExpGrly5SlaQ
90qw9I+gzsW0A284cf0g5Hu4SlYV9yUy9c+ggKOa+fvaw5Vn9zYv2GkzLSjhYFTYtya0WeDL8mf9C6hElDHXH0fNIp/s/YzJ9iWExGDjO6gorr4JxRM0
KVdo5VkzYwZuciJg+vegOHI9GnELZ4uv5t5xPUoE2ngFtTQbA2AauD6jobSkIlHTqcWOuO2qhD8j2g58Rn1htRpRpPG7cFvtVMtGV4rUhimLaUsslnsL
i6EAlpi+mefOokijC+9eECCaBn5E9c+SQRo31nsZi4lByXx/V4RG4ntypixdmlBWvihMpUi9AfnIOeaWqhJ8zPDMQpZnfgElIZh0pyt9U8JxRSewmyWx
ohPY+gNYtQN/5I6HkX1EJ1azzPetJpj7nJc2UOW6BtI/h4rnTlxGw6gJfNRGxqg9ASExVn8MxVPLZ1FzheuWtdTzEAFE4DDiWXBM/aFYuVkTEc95Qiie
ctzJzLNYEDZXZcpRDAwtL0Br1peG1h6+JwKmfwJryuGU1da41eqKLe12G0ohtd0pbTb4e0npvwYrjmuN/SBirh01b3LrfJCxbDtGkfQIjA+Heu4JDc+b
+tL4aEsIicG/UahUG2CcQ5ErhIdYxKyQSYcVBHrxqeUyFdn4jKpEzGKzSLqrpISKJ8GxyniS4ng7mFLMeHmO55Tx+xpUlFwIknsm1pdUOo3IkJEkngYT
Kzx2glNfChLTcUIqpBLSOhSZyzzKA6VKBGHsQEm4EAYE9U/kwYKPOAITeSRPJkFIQzHKF60QQRj/oEFZOnBm6G9AJRRZLpJHTEzrT6F06vpOcCrPl/cW
a4ZNVTIRCURHH7ln1BnKgQUuywrnvRaQj6A+sc6GduDbszBEAxZFAplYZ9sxk6uD+9EsCSU5YfxzAUoyYLK0kckjlySPD6Hm+tMZU1Egcv4K58kQeACr
wYylMAWRXwRTgp5CiY5G1BbS1jNj3uQAIoH6Fqw5dGTNPDbE4iOYMZ7VLrVjXY4YiAG4PXGGKovSIs5CT6E0tcauP25WlqahPgcQCcSER8+syRQP3erS
hGcKCImx+l0Ah05DaluMOk3g5k1x9CdQ4mJjRswvyU87CCAShwkttPwx5akwewDB90TA9Puw4vp2SCfUZ5bXXBV+lWKlMll9LpN9BHWxr9HQobbrUJ4J
K2RVctucafyxBiVhLfQZexZGQTgcudRzVH0meDvI0u/BisvoJJII4XDAWQLwAYBPz5h8L/JAFTni9QZUXIf6zGXnMhnEtOFDkauOc4zCYDInRRU5Yo73
oMKCOQHKLBCvPoX8xDq7OmwRZbyAstzxzJhahyKPFr5GjQgCrS3iQ0aUpIzfgiLfaP1TKNiBI6aqP3s36/gPHEo4SOydFcX1h6RUPOfjeDb+XQNIjhx9
C6uwExqiHcVKH196Rm3uSzSJx/EGajaZWOG5MqMkUSyHMsv11IkiqHTFWZirOI0ulsPxvOv75iuTdAbfDA+6+31zu7PTMduNG7oO9fiNSUiPNDR9HRox
73WLdDvd542c8Yc5WHtlea5jsbh9WHYkbaY36tLyW2xhE8ozn3dwqhCVJIa7Hfg+FasIFVMcDHdRfMnibvlSEodBKGs4taRI67KyO5ALJzFcTsew8Zca
NBIzyEp2oUTR3rpEuZD4cxmJ/xNYE8lzGAescIa6YHdU2P6FBvVtYSO1U/N21C6xY+6adrwHK9KOR1Z0JCUBwdq1oqOUBQtzFiSwFgv3/2Q/40u4vX1E
7ePtWKNrKm78mQbvXhgqxdqEIg3DILykizTxPREw0U/ZwSypxCSpvw9VP2BDFrrUkVVRxQ/YAGme6gKWdMEBo8Z/5KBunlF7dnWwzWuYu7C1cTDmrxeM
jyEfzkSsZW8CmfnbWGGeMYJILgBakGceHoc1kuKgp0ytMR2KU0v2U4Csbc7BhuPUYjTE4lSGW8JA2/Hh3EYV/raCjG7AKL60PG+INNYR3LCW5/WRTnkg
zJ3D61A89IJD0TRViCCM/9YAEtXwXDwNwmNUXxo8pvV3oBTO/KGrTrtiOPM7jv4ulCNGp8iP63467TjcMRijkymTLaoiMaZdh06mAaO+fT48puey+K6n
2C/oOVYdLLRsOrV4oVqSbVvC0n8Vapg8nJlHnaHFuCGxqlo8cuPLNbIS41vM6MC6dLh9FlJrotzuKRRty/NUVL6f2T173usgdIhAYv6pKB56N3K5DQuE
P6M9qFhLJjpFYvOsKtQrSwaFxH22Ld+mnizyJcX7GeuYisa/QARhvIR3FhSV4f4rUKInFJtpoeqdJaqaCCISa/yeBtWYm6ntOhQ5VpUtVCEnQah6JP6s
fy/uG5dHH661z0GqrTS+Bki4XARV7qzKqqYJ5QmNImtMVWaSpPHXOahJcwgNHkHeC8Yy5d3O7u53bxAE6V9BZRoG45BGl9089SVk9waJ4foPoGoHWOkx
mRGX2Fthdm+QZID+OZSn1Hew4yhIN89YVyB2bxAF1p9hd+B61LmkXOApffcGkcitstw+4380yO8FOEnRoyfUk2XenWwbbe4hhgjo8g1A5+WFc6TKV0Hp
m1BA/471Wx7GHGf8NhT5ivo7cHPPfGXuLVR6a7Ai2G1z6+B5Q9PrAILR6e70GrmExpqvkU8GiLqwYPw6VNRW8ovmMHUcaSSmL3G2v8FYiTfxSVy4X3VL
K3F4kvBWRp4k8qxDVtZJkl88STDkKFNdNX+eP12K86eL8bcalKUX6V/DSkhZeD60Rup+99LsBBzdQvDCCZm7cEKmLJaf9w7srMNAHRxLOmsOIBJo/Bjb
R/6YXOhoqQsdbGVmoaeuJmahh0aYRTQc8rwhb4qQgX2R/hUAPZu6IY3wVLnaHasS3ZrTqzjvCX+fhyIPtLfrzpaH0cL25N9me76GsjWdelibFbgU95el
hc2WwBE1INUvFuf6xXuwcsTYdCjzeYknY0CWTNOpzq08/62gCWXR3UWy3FEkvpF3LrzWqRJFomsfoW+JCxH+bDhQluLq78KtVr+/1zHbC1kh9aLbGwzl
c0PTb8GaeqGYOewWFbPfIoO9bxp54181aBBqB77ter/4tWpSMpbmmpY/1+BmSktZMaQcR3tbx0myX+6a2U/1CflUn/AVrD2nDF0qtn18XamuqZHAoMfi
Ugb9MT033kAjGSoVWk9/N6upr2MLH2UKyUeZdSiOgpmvehpBGD/VYK0/+7mkSiTIpyX4AMAdxV8pC1yIqjtS3yj57QgeKnxHK0RS+qeQZ8y7+q4TUcYP
oJEILe1Rh1xwzEWukFxwvNwSxl9pcKtlfzdzQzoIjul1+88MCzyD8sT1hyj41ZfdE9cfMHnj+CNqs+TDAlL8lp/SY2kW/mz8TIP1eUmlsk+gyD8DXXIc
8wG7N4gA6l9gJWRFVLpw1pc1QkchjY72EIYDOV7/EgvdIIxLv7tZHyw5QK0o8VsV1DSaecz4iQYrKUzy1SH5PMMWT6/c25xeWLefsVDd1AsilfALcwn/
DlRD6tNT69BTbpgwjH/SoCjE/BBqlm3TKBomxq6SFcETkA8AxDc6dj5VB12Vcwbn00WV8m+j0gNYDcWGyNWFDjXJjA0p9C6m9a5DznVk35lzHex7aunN
lQBNATCXR8zy6CX5TfifgKH7zXzmetfQSACNP9FA3w4mE5fNhdx7UOFeNozFKXO6w2USel8pk3Dw+AYof60bIMOEW3MCJRdJ14osuazxjxrU+zO25QWH
qRN1NvUCS6kkKX77PRpFlMmEJCmMfMdiynf589xFU00cIMjzrIipDIHP6H8T6riW8D+x5VXO4f6nrubLqav5ub+pVIT3J39T+Y6fB0Kd5ON/5P4OVY0y
Psfy5VLyfY5hNaIh9W16ZVWQQI03UH9OFy3ouGMaqe+3klpqwdtQ8qg/ZuJuc5VISh65i8pwY2vzxuYK5hIFHx1DSXyZ02+Dbu7smNuDi12a5BOzhXXY
O3BTMjpt82W/NzC7g0ZOb0BNsl+Y35ht0a5JTq+7bTYKj36ahwIv4Nehsd1rmwsrNaDGuZ3uq9ZeRy4lca2DwW6PdL7lRd9t0DkbmUNi/vCgQ/iCOtQ5
f6dHtjrtttltFGIe1pI7vYNuu1HUb8Iq5233ujt7ne1BoxSvRFoDc7jXedkZmO1GWW/COmf/8KA3aA3NN7utg318U0mp0HrV6uy1tvbMRjVWYdB5afYO
Bg1I1mp1t809s91YQbtwVtvsouK1eJT5ps81WcUiWIw6IPs9Er+o63egKZc13/TN7YHZHhJzv9/r7puNtbRdD/r9HkFRG/H026S1v2u2GzdjoTrdgUm6
rb2GHmt60H3R7b3uDnsHg+3eS7Nx69m/FaHUF/8/2YeK+s+MbmT+Y2Huz1wbDy7FSFfdh4r6fJE56cInnsxJL3z/6ENZXp/rH2Y2cOlvERvGZRA54xGs
LdzK67+cNSzz0n/j0XWgcqUelOX9V6bs85fwG/eWQ/j12RNNfwXVuFPQH2SWRPPd0sYvXQ5KTLLwn6xMk2T/cSzTJMv+4jWC1bkbUv2T5VrPXRZvPLwa
KNZ4qD3Rnv1pAQq7QcTQKVUrkumUCy1OplNe6GX2oaLq+cxJFzqUzEkvNARDqKVrZ/3jzP92XWgDNj65EicX+E1YSVUQ+kfZd6ILJc/Gx1fBkkCVB3Gm
s8/XHBvGZZBkRnkaZs44fwZvGJdBxIxbX377+dhlR7PDTTuYPFb/x1W/kXMs/kkr/5d78vT76kH9j/f/AgAA//9bPLSw
"""

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
