#!/usr/bin/env python3
"""Stands for the service: in the tests, and in a sandbox. Run, it prints the config of a connection to itself, and
serves until its stdin ends."""
import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Dict, List

KEY = "simulated"


class Service(ThreadingHTTPServer):
    """Keeps notes in memory."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.lock = threading.Lock()
        self.notes: List[Dict[str, Any]] = []
        self.added: Dict[str, Dict[str, Any]] = {}  # by idempotency key
        self.config = {"base_url": f"http://127.0.0.1:{self.server_port}", "key": KEY}
        threading.Thread(target=self.serve_forever, args=[0.02], daemon=True).start()

    def add(self, key: str, note: Dict[str, Any]) -> Dict[str, Any]:
        """Adds a note, once for each idempotency key."""
        with self.lock:
            if not key or key not in self.added:
                self.added[key] = {**note, "id": f"n{len(self.notes) + 1}"}
                self.notes.append(self.added[key])
            return self.added[key]


class Handler(BaseHTTPRequestHandler):
    server: Service

    def do_GET(self) -> None:
        if self.served():
            self.answer(200, {"notes": self.server.notes})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.served():
            self.answer(201, self.server.add(self.headers.get("Idempotency-Key", ""), json.loads(body)))

    def served(self) -> bool:
        """Says whether there is an answer; where there is none it refuses the request."""
        if self.headers["Authorization"] != f"Bearer {KEY}":
            self.answer(401, {"message": "who are you?"})
        elif self.path != "/v1/notes":
            self.answer(404, {"message": f"there is no {self.path}"})
        else:
            return True
        return False

    def answer(self, status: int, document: Any) -> None:
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


if __name__ == "__main__":
    print(json.dumps(Service().config), flush=True)
    sys.stdin.read()  # its end is the end of the sandbox
