"""A headless Chromium, driven over its own protocol through two pipes: nothing but the browser has to be installed."""

import base64
import contextlib
import json
import os
import shutil
import subprocess
import tempfile

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome")


def find_browser():
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """One page. Events of the browser are passed over, but for what the page throws and logs: `complaints`."""

    def __init__(self, program, folder):
        to_browser, self.write_end = os.pipe()
        self.read_end, from_browser = os.pipe()
        command = [
            "bash", "-c", f'exec 3<&{to_browser} 4>&{from_browser}; exec "$@"', "bash", program,
            "--headless=new", "--remote-debugging-pipe", f"--user-data-dir={folder}", "--no-first-run",
            "--disable-gpu", "--disable-dev-shm-usage", "--no-sandbox", "--window-size=900,700", "about:blank",
        ]  # fmt: skip
        self.process = subprocess.Popen(
            command,
            pass_fds=(to_browser, from_browser),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self.held, self.number, self.session, self.complaints = b"", 0, None, []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def receive(self):
        while b"\0" not in self.held:
            part = os.read(self.read_end, 1 << 20)
            if not part:
                raise RuntimeError("the browser has ended")
            self.held += part
        message, self.held = self.held.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.write_end, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            if answer.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded"):
                self.complaints.append(answer["params"])

    def open(self, address):
        self.call("Page.navigate", url=address)
        self.wait('document.readyState === "complete"')

    def evaluate(self, expression):
        """The value of JavaScript, promises awaited."""
        result = self.call(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True, userGesture=True
        )
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def wait(self, condition):
        """Until the expression is true; the tests' timeouts are the limit."""
        self.evaluate(
            f"new Promise((done) => {{ const look = () => ({condition}) ? done() : setTimeout(look, 5); look(); }})"
        )

    def click(self, selector):
        """With the mouse, where the element is."""
        x, y = self.evaluate(
            f"(() => {{ const box = document.querySelector({selector!r}).getBoundingClientRect();"
            " return [box.x + box.width / 2, box.y + box.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def fill(self, selector, text):
        """Typed in place of what the field holds."""
        self.evaluate(f"document.querySelector({selector!r}).select()")
        self.call("Input.insertText", text=text)

    def text(self, selector):
        return self.evaluate(f"document.querySelector({selector!r}).textContent")

    def screenshot(self, path):
        data = self.call("Page.captureScreenshot", format="png")["data"]
        path.write_bytes(base64.b64decode(data))

    def close(self):
        with contextlib.suppress(Exception):
            self.session = None
            self.call("Browser.close")
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(20)
        self.process.kill()
        self.process.wait()
        os.close(self.write_end)
        os.close(self.read_end)


@contextlib.contextmanager
def browsing():
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        browser = Browser(find_browser(), folder)
        try:
            yield browser
        finally:
            browser.close()
