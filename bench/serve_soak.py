"""Clients of every kind at `weft serve`, all at once: those that wait, stream, go away, send what is no request, too much,
or slowly. At the end no page is held, nothing waits, and the memory is what it was after the first tenth.

    python bench/serve_soak.py --model DIR --seconds 1200
"""

import argparse
import collections
import http.client
import json
import pathlib
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time

HEADERS = {"Content-Type": "application/json"}


def start(model, arguments):
    process = subprocess.Popen(
        [sys.executable, "-m", "weft", "serve", "-m", model, "--port", "0", *arguments],
        stdout=subprocess.PIPE,
        text=True,
    )
    for line in process.stdout:
        if found := re.search(r"http://127\.0\.0\.1:(\d+)", line):
            return process, int(found[1])
    raise SystemExit("the server did not start")


def resident_mib(process):
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024


def figures(port):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", "/metrics")
    text = connection.getresponse().read().decode()
    connection.close()
    return dict(re.findall(r"^([a-z_]+(?:\{.*\})?) (\S+)$", text, re.M))


class Clients:
    def __init__(self, port, seed):
        self.port = port
        self.random = random.Random(seed)

    def ask(self, body):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        text = body if isinstance(body, str) else json.dumps(body)
        connection.request("POST", "/v1/completions", text, HEADERS)
        return connection

    def body(self, **more):
        words = ["Once", "upon", "a", "time", "Lily", "dog", "the", "big", "park"]
        prompt = " ".join(self.random.choices(words, k=self.random.choice([1, 4, 40, 100])))
        return {
            "prompt": prompt,
            "max_tokens": self.random.choice([1, 8, 60, 200]),
            "temperature": self.random.choice([0, 1]),
            "n": self.random.choice([1, 1, 1, 3]),
            **more,
        }

    def whole(self):
        connection = self.ask(self.body())
        response = connection.getresponse()
        answer = json.loads(response.read())
        connection.close()
        assert response.status in (200, 429), answer
        return f"whole {response.status}"

    def stream(self):
        connection = self.ask(self.body(stream=True))
        response = connection.getresponse()
        text = response.read().decode()
        connection.close()
        assert response.status == 429 or text.endswith("data: [DONE]\n\n"), text
        return f"stream {response.status}"

    def goes_away(self):
        connection = self.ask(self.body(stream=self.random.random() < 0.5, max_tokens=300, ignore_eos=True))
        time.sleep(self.random.random() * 0.05)
        connection.sock.shutdown(socket.SHUT_RDWR)
        connection.close()
        return "went away"

    def malformed(self):
        body = json.dumps(self.body())
        at = self.random.randrange(len(body))
        connection = self.ask(body[:at] + self.random.choice(["", "\0", "{", "ä", '"']) + body[at + 1 :])
        status = connection.getresponse().status
        connection.close()
        assert status in (200, 400, 429), status
        return f"malformed {status}"

    def oversized(self):
        connection = self.ask({"prompt": "a " * 200_000})
        status = connection.getresponse().status
        connection.close()
        assert status == 413, status
        return "oversized 413"

    def slow(self):
        with socket.create_connection(("127.0.0.1", self.port)) as connection:
            connection.sendall(b"POST /v1/completions HTTP/1.1\r\nContent-Length: 50\r\n")
            time.sleep(self.random.random() * 2)
        return "slow"

    def any(self):
        kinds = [self.whole, self.stream, self.goes_away, self.malformed, self.oversized, self.slow]
        return self.random.choices(kinds, [6, 6, 4, 3, 1, 1])[0]()


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", required=True)
    parser.add_argument("--seconds", type=float, default=1200)
    parser.add_argument("--clients", type=int, default=24)
    parser.add_argument(
        "--pause", type=float, default=0, help="seconds that a client rests between two requests (default: 0)"
    )
    options = parser.parse_args()
    process, port = start(options.model, ["--max-body-kib", "64", "--max-queue", "16", "--read-timeout", "1"])
    end = time.monotonic() + options.seconds
    counts, failures = collections.Counter(), []

    def work(seed):
        clients = Clients(port, seed)
        while time.monotonic() < end and not failures:
            try:
                kind = clients.any()
            except Exception as error:
                failures.append(repr(error))
                raise
            counts[kind] += 1
            time.sleep(clients.random.random() * 2 * options.pause)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(options.clients)]
    for thread in threads:
        thread.start()
    memory = []
    while time.monotonic() < end and not failures:
        time.sleep(options.seconds / 20)
        memory.append(resident_mib(process))
        print(f"{memory[-1]:.1f} MiB, {sum(counts.values())} requests", flush=True)
    for thread in threads:
        thread.join()
    for _ in range(100):
        now = figures(port)
        if now["weft_texts_running"] == now["weft_texts_waiting"] == "0":
            break
        time.sleep(0.1)
    print(dict(counts))
    print({name: value for name, value in now.items() if "bucket" not in name})
    process.send_signal(signal.SIGTERM)
    status = process.wait(60)
    growth = memory[-1] - memory[1]
    print(
        f"{sum(counts.values())} requests in {options.seconds:.0f} s; memory {growth:+.1f} MiB since the first tenth"
    )
    assert not failures and status == 0, failures
    assert now['weft_cache_pages{state="held"}'] == "0" and now["weft_texts_running"] == "0"
    assert growth < 16


if __name__ == "__main__":
    main()
