"""A plugin with a mistake in each part."""
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from flowrun import Call, Field, Limit, Login, NoInput, Paged, Plugin


@dataclass
class First:
    a: str = ""


@dataclass
class Second:
    b: str = ""


@dataclass
class Odd:
    x: complex


@dataclass
class Wide:
    y: Annotated[str, Field(pattern="(?=a)")]


@dataclass
class Off:
    z: Literal["a", "b"] = "c"  # type: ignore[assignment]


plugin = Plugin("Wrong", "", "Mistakes", base_url="ftp://x", hosts=["*.example.com"], limits=[Limit("none", 0, 0)], token_action="nothing",
                login=Login("nothing", "good"))


@plugin.read()
def good(c: Call[First]) -> str:
    return ""


@plugin.read("good")
def again(c: Call[Second]) -> str:
    return ""


@plugin.read(limits=["nowhere"], paged=Paged("cursor", "", ""))
def bad(c: Call[First], i: Odd) -> str:
    return ""


@plugin.read()
def wide(c: Call[First], i: Wide) -> str:
    return ""


@plugin.read()
def off(c: Call[First], i: Off) -> str:
    return ""


@plugin.validate_with("fial")
def no_action(i: Any, unknown: list[str]) -> list[Any]:
    return []


plugin.serve()
