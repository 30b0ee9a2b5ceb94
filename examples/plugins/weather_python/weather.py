#!/usr/bin/env python3
from dataclasses import dataclass
from typing import Annotated, Literal, Optional

from flowrun import Call, Example, Field, HTTPSettings, Plugin


@dataclass
class Config(HTTPSettings):
    api_key: Annotated[Optional[str], Field("Key of the weather service", secret=True)] = None


@dataclass
class CurrentIn:
    city: Annotated[str, Field("Name of the city", min=1, example="Bonn")]
    unit: Annotated[Literal["celsius", "fahrenheit"], Field("Unit of the temperature")] = "celsius"


@dataclass
class CurrentOut:
    temperature: Annotated[float, Field("In the unit that was asked for")]
    sky: Annotated[str, Field("Such as clear or rain")]


plugin = Plugin("weather", "1.0.0", "The weather of a city")


@plugin.read(examples=[Example("Bonn", CurrentIn("Bonn"), CurrentOut(17.5, "clear"))])
def current(c: Call[Config], input: CurrentIn) -> CurrentOut:
    """Read the weather of now"""
    service = c.http.with_header("X-Api-Key", c.config.api_key)
    return service.get_json("/v1/current", CurrentOut, {"city": input.city, "unit": input.unit})


if __name__ == "__main__":
    plugin.serve()
