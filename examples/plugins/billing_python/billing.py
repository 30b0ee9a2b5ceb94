#!/usr/bin/env python3
"""Wraps a billing service that wants OAuth 2.0 client credentials: a paged list that goes on where the last run ended, a
charge under an idempotency key, and a payout that is looked for when its answer was lost. ../billing is the same in Go."""
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, List, Literal, Optional

from flowrun import (
    Applied, Call, ClientCredentials, Code, Error, Fault, Field, Grant, HTTPClient, HTTPSettings, Limit, Paged, Plugin,
    Problem, Reconciled, Request, Response,
)


@dataclass(kw_only=True)
class Config(HTTPSettings):
    client_id: Annotated[str, Field("OAuth client", min=1)]
    client_secret: Annotated[str, Field("Its secret", secret=True, min=1)]
    token_url: Annotated[Optional[str], Field("Token endpoint; default base_url/oauth/token", format="uri")] = None


def grant(config: Config) -> Grant:
    return ClientCredentials(config.token_url or "/oauth/token", config.client_id, config.client_secret)


def service(c: Call[Config]) -> HTTPClient:
    """The HTTP client with an access token, which is renewed when it has to be."""
    return c.http.with_grant(grant(c.config))


@dataclass
class Invoice:
    id: str
    seq: int
    amount: Annotated[int, Field("Cents")]
    customer: str
    paid_at: Annotated[Optional[datetime], Field("Absent until it is paid")]


@dataclass
class InvoicesIn:
    cursor: Annotated[Optional[str], Field("Page to begin with")] = None
    customer: Annotated[Optional[str], Field("Only theirs")] = None


@dataclass
class InvoicesOut:
    invoices: List[Invoice]
    next: Annotated[str, Field("Cursor of the next page")]


@dataclass
class ChargeIn:
    customer: Annotated[str, Field("Who pays", min=1)]
    amount: Annotated[int, Field("Cents", min=1, max=1_000_000)]
    currency: Literal["eur", "usd"] = "eur"


@dataclass
class ChargeOut:
    id: str
    amount: int
    created_at: datetime


@dataclass
class PayoutIn:
    reference: Annotated[str, Field("Yours, unique", min=1, max=64, pattern="^[a-z0-9-]+$")]
    amount: Annotated[int, Field(min=1)]
    iban: Annotated[str, Field(secret=True)]


@dataclass
class PayoutOut:
    id: str
    reference: str


@dataclass
class Payouts:
    payouts: List[PayoutOut]


@dataclass
class KeyIn:
    name: Annotated[str, Field(min=1)]


@dataclass
class KeyOut:
    id: str
    secret: Annotated[str, Field(secret=True)]
    prefix: str


plugin = Plugin("billing", "0.2.0", "Invoices, charges and payouts", uses_state=True, limits=[
    Limit("api", 50, 1, scope=["base_url", "client_id"]),
    Limit("payouts", 2, 10, fixed_window=True),
])


@plugin.check_connection
def who(c: Call[Config]) -> str:
    c.token_of(grant(c.config))
    return c.config.client_id


@plugin.read(paged=Paged("cursor", "invoices", "next"), incremental=True, limits=["api"])
def invoices(c: Call[Config], i: InvoicesIn) -> InvoicesOut:
    """List invoices"""
    query = {"since": c.watermark.decode() or None, "cursor": c.page_cursor or i.cursor, "customer": i.customer}
    page = service(c).get_json("/v1/invoices", InvoicesOut, query)
    c.next(page.next)
    if page.invoices:
        c.set_watermark(str(page.invoices[-1].seq).encode())
    return page


def declined(r: Response) -> Optional[Error]:
    if r.status != 402:
        return None
    return r.fail(Code.CONFLICT, "the card was declined").with_reason("card_declined").with_hint("ask the customer for another card")


@plugin.keyed(limits=["api"], timeout=20, faults=[Fault(Code.CONFLICT, "card_declined", "The card was declined")])
def charge(c: Call[Config], i: ChargeIn) -> ChargeOut:
    """Charge a customer"""
    return service(c).do(Request("/v1/charges", json=i, classify=declined)).json(ChargeOut)


@plugin.once(limits=["api", "payouts"])
def payout(c: Call[Config], i: PayoutIn) -> PayoutOut:
    """Send money"""
    return service(c).post("/v1/payouts", i).json(PayoutOut)


@plugin.reconcile_with("payout")
def find_payout(c: Call[Config], i: PayoutIn) -> Reconciled:
    found = service(c).get_json("/v1/payouts", Payouts, {"reference": i.reference}).payouts
    if not found:
        return Reconciled(Applied.NOT_APPLIED)
    return Reconciled(Applied.APPLIED, found[0], "found by its reference")


@plugin.validate_with("payout")
def check_payout(i: PayoutIn, unknown: List[str]) -> List[Problem]:
    if i.amount > 100_000 and not unknown:
        return [Problem("/amount", "more than 1000.00 goes out at once", "split it", warning=True)]
    return []


@plugin.once(limits=["api"])
def new_key(c: Call[Config], i: KeyIn) -> KeyOut:
    """Make an API key"""
    return service(c).post("/v1/keys", i).json(KeyOut)


if __name__ == "__main__":
    plugin.serve()
