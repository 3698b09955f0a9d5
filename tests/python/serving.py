"""`weft serve` as a process, for tests of what it answers."""

import contextlib
import http.client
import json
import re
import signal
import subprocess
import sys
import time

COMPLETIONS, CHAT = "/v1/completions", "/v1/chat/completions"


def run(*arguments):
    """For calls that end by themselves."""
    command = [sys.executable, "-m", "weft", "serve", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


class Server:
    def __init__(self, *arguments):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "weft", "serve", "--port", "0", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.said = ""
        while "serving " not in self.said:
            line = self.process.stdout.readline()
            assert line, self.process.stderr.read()
            self.said += line
        self.port = int(re.search(r"http://127\.0\.0\.1:(\d+)", self.said)[1])

    def connect(self, timeout=60):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def ask(self, method, path, body=None, **headers):
        """Status, headers and body; JSON where it is."""
        connection = self.connect()
        if isinstance(body, dict):
            body = json.dumps(body)
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        if body is not None:
            headers.setdefault("Content-Type", "application/json")
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        text = response.read().decode()
        connection.close()
        is_json = response.headers["Content-Type"] == "application/json"
        return response.status, response.headers, json.loads(text) if is_json and text else text

    def complete(self, path=COMPLETIONS, **body):
        status, _, answer = self.ask("POST", path, body)
        assert status == 200, answer
        return answer

    def figures(self):
        text = self.ask("GET", "/metrics")[2]
        return {name: float(value) for name, value in re.findall(r"^([a-z_]+(?:\{.*\})?) (\S+)$", text, re.M)}

    def wait_for(self, **expected):
        """Until the figures are these; the tests' timeouts are the limit."""
        wanted = {
            "held": 'weft_cache_pages{state="held"}',
            "running": "weft_texts_running",
            "waiting": "weft_texts_waiting",
            "cancelled": 'weft_requests_total{outcome="cancelled"}',
        }
        for _ in range(3000):
            figures = self.figures()
            if all(figures[wanted[name]] == value for name, value in expected.items()):
                return
            time.sleep(0.01)
        raise AssertionError(f"expected {expected}, got {figures}")

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        out, error = self.process.communicate(timeout=60)
        return self.process.returncode, out, error


@contextlib.contextmanager
def serving(*arguments):
    server = Server(*arguments)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            status, out, error = server.stop()
            assert (status, out, error) == (0, "stopped\n", ""), (status, out, error)
