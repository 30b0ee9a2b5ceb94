import json
import threading
import unittest
from http.server import BaseHTTPRequestHandler, HTTPServer

from flowrun import Applied, Code
from weather import plugin


class Service(BaseHTTPRequestHandler):
    """Stands for the weather service."""

    def do_GET(self) -> None:
        known = self.headers["X-Api-Key"] == "a-key" and "city=Bonn&unit=celsius" in self.path
        body = json.dumps({"temperature": 21.5, "sky": "clear"} if known else {"message": "who are you?"}).encode()
        self.send_response(200 if known else 401)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


class WeatherTest(unittest.TestCase):
    def setUp(self) -> None:
        self.service = HTTPServer(("127.0.0.1", 0), Service)
        self.config = {"base_url": f"http://127.0.0.1:{self.service.server_port}", "api_key": "a-key"}
        threading.Thread(target=self.service.serve_forever, daemon=True).start()

    def tearDown(self) -> None:
        self.service.shutdown()
        self.service.server_close()

    def test_it_reads_the_weather(self) -> None:
        tried = plugin.try_action("current", {"city": "Bonn"}, config=self.config)
        self.assertIsNone(tried.error)
        self.assertEqual(tried.output, {"temperature": 21.5, "sky": "clear"})
        self.assertEqual(tried.meta["status"], 200)

    def test_a_wrong_key_is_unauthorized(self) -> None:
        tried = plugin.try_action("current", {"city": "Bonn"}, config={**self.config, "api_key": "another"})
        assert tried.error
        self.assertEqual((tried.error.code, tried.error.applied), (Code.UNAUTHORIZED, Applied.NOT_APPLIED))
        self.assertIn("who are you?", tried.error.message)

    def test_a_wrong_unit_is_refused_before_anything_is_sent(self) -> None:
        tried = plugin.try_action("current", {"city": "Bonn", "unit": "kelvin"}, config={"base_url": "http://127.0.0.1:1"})
        assert tried.error
        self.assertEqual((tried.error.code, tried.error.pointer), (Code.INVALID, "/unit"))


if __name__ == "__main__":
    unittest.main()
