import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "plugin"))
from flowrun import Applied, Code, RunInfo  # noqa: E402
from main import plugin  # noqa: E402
from simulator import Service  # noqa: E402


class PluginTest(unittest.TestCase):
    """Runs the plugin in this process, against the simulated service."""

    def setUp(self) -> None:
        self.service = Service()

    def tearDown(self) -> None:
        self.service.shutdown()
        self.service.server_close()

    def test_a_note_is_listed(self) -> None:
        made = plugin.try_action("add", {"text": "buy milk"}, config=self.service.config)
        self.assertEqual(made.output, {"id": "n1"})
        listed = plugin.try_action("list", {}, config=self.service.config)
        self.assertEqual(listed.output, {"notes": [{"text": "buy milk", "level": "normal"}]})

    def test_a_repeated_call_adds_one_note(self) -> None:
        for _ in range(2):
            made = plugin.try_action("add", {"text": "buy milk"}, config=self.service.config, run=RunInfo(idempotency_key="the same"))
            self.assertIsNone(made.error)
        self.assertEqual(len(self.service.notes), 1)

    def test_a_wrong_key_is_unauthorized(self) -> None:
        tried = plugin.try_action("list", {}, config={**self.service.config, "key": "another"})
        assert tried.error
        self.assertEqual((tried.error.code, tried.error.applied), (Code.UNAUTHORIZED, Applied.NOT_APPLIED))

    def test_a_wrong_level_is_refused(self) -> None:
        tried = plugin.try_action("add", {"text": "buy milk", "level": "huge"}, config=self.service.config)
        assert tried.error
        self.assertEqual((tried.error.code, tried.error.pointer), (Code.INVALID, "/level"))


if __name__ == "__main__":
    unittest.main()
