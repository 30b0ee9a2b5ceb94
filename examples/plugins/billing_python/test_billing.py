import json
import threading
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Dict, List
from urllib.parse import parse_qs, urlsplit

from billing import plugin
from flowrun import Applied, Code, MemoryHost, RunInfo

SECRET = "s3cret-s3cret"
BASIC = "Basic bWU6czNjcmV0LXMzY3JldA=="  # me:s3cret-s3cret


class Service(ThreadingHTTPServer):
    """Stands for the billing service, with 120 invoices."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.tokens = 0
        self.expire = self.hang = False  # refuse the next token, hang up after the next payout
        self.paid: Dict[str, Any] = {}


class Handler(BaseHTTPRequestHandler):
    server: Service

    def do_GET(self) -> None:
        self.answer()

    def do_POST(self) -> None:
        self.answer()

    def answer(self) -> None:
        text = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        url, service = urlsplit(self.path), self.server
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        if url.path == "/oauth/token":
            if self.headers["Authorization"] != BASIC or parse_qs(text) != {"grant_type": ["client_credentials"]}:
                return self.say(401, {"error": "invalid_client"})
            service.tokens += 1
            return self.say(200, {"access_token": f"tok-{service.tokens}", "token_type": "Bearer", "expires_in": 3600})
        if self.headers["Authorization"] != f"Bearer tok-{service.tokens}" or service.expire:
            service.expire = False
            return self.say(401, {"error": "invalid_token"})
        if url.path == "/v1/invoices":
            at = max(int(query.get("cursor", 0)), int(query.get("since", 0)))
            page = [{"id": f"inv_{n + 1}", "seq": n + 1, "amount": 100 + n, "customer": "c", "paid_at": None} for n in range(at, min(at + 50, 120))]
            return self.say(200, {"invoices": page, "next": str(at + 50) if at + 50 < 120 else ""})
        if url.path == "/v1/charges":
            if json.loads(text)["amount"] > 9000:
                return self.say(402, {"error": {"code": "card_declined", "message": "no"}})
            return self.say(201, {"id": "ch_" + self.headers["Idempotency-Key"], "amount": 100, "created_at": "2026-01-31T09:00:00Z"})
        if self.command == "GET":
            return self.say(200, {"payouts": [service.paid[query["reference"]]] if query["reference"] in service.paid else []})
        reference = json.loads(text)["reference"]
        service.paid[reference] = {"id": f"po_{len(service.paid) + 1}", "reference": reference}
        if service.hang:
            self.close_connection = True
            return
        self.say(201, service.paid[reference])

    def say(self, status: int, document: Any) -> None:
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


class BillingTest(unittest.TestCase):
    def setUp(self) -> None:
        self.service, self.host = Service(), MemoryHost()
        self.config = {"base_url": f"http://127.0.0.1:{self.service.server_port}", "client_id": "me", "client_secret": SECRET}
        threading.Thread(target=self.service.serve_forever, daemon=True).start()

    def tearDown(self) -> None:
        self.service.shutdown()
        self.service.server_close()

    def test_all_pages_with_one_token(self) -> None:
        read: List[Any] = []
        cursor, pages = "", 0
        while pages == 0 or cursor:
            tried = plugin.try_action("invoices", {}, config=self.config, host=self.host, page_cursor=cursor)
            self.assertIsNone(tried.error)
            read, cursor, pages = read + tried.output["invoices"], tried.next_cursor, pages + 1
        self.assertEqual((len(read), pages, tried.watermark, self.service.tokens), (120, 3, b"120", 1))

    def test_a_refused_token_is_renewed_once(self) -> None:
        plugin.try_action("invoices", {}, config=self.config, host=self.host)
        self.service.expire = True
        tried = plugin.try_action("charge", {"customer": "c1", "amount": 100}, config=self.config, host=self.host, run=RunInfo(idempotency_key="k1"))
        self.assertIsNone(tried.error)
        self.assertEqual((tried.output["id"], self.service.tokens), ("ch_k1", 2))

    def test_a_wrong_secret(self) -> None:
        tried = plugin.try_action("invoices", {}, config={**self.config, "client_secret": "wrong"})
        assert tried.error
        self.assertEqual((tried.error.code, tried.error.reason), (Code.UNAUTHORIZED, "invalid_client"))

    def test_a_declined_card(self) -> None:
        tried = plugin.try_action("charge", {"customer": "c1", "amount": 9001}, config=self.config)
        assert tried.error
        self.assertEqual((tried.error.code, tried.error.reason, tried.error.applied), (Code.CONFLICT, "card_declined", Applied.NOT_APPLIED))

    def test_a_lost_payout_is_found(self) -> None:
        payout = {"reference": "r-1", "amount": 5, "iban": "DE00"}
        self.assertEqual(plugin.try_reconcile("payout", payout, config=self.config).applied, Applied.NOT_APPLIED)
        self.service.hang = True
        tried = plugin.try_action("payout", payout, config=self.config)
        assert tried.error
        self.assertEqual(tried.error.applied, Applied.UNKNOWN)
        found = plugin.try_reconcile("payout", payout, config=self.config)
        self.assertEqual((found.applied, len(self.service.paid)), (Applied.APPLIED, 1))


if __name__ == "__main__":
    unittest.main()
