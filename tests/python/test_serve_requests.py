"""How `weft serve` is addressed: interfaces, keys, names of models; and its page's colours."""

import http.client
import os
import pathlib
import re
import subprocess
import sys
import urllib.parse

import pytest
import serving

SHARED = pathlib.Path(
    os.environ.get("WEFT_SHARED_DATA", pathlib.Path(__file__).parents[2] / ".." / "shared" / "data")
)
STORIES = str(SHARED / "stories260k")
pytestmark = pytest.mark.skipif(
    not pathlib.Path(STORIES).is_dir(), reason="no shared data (WEFT_SHARED_DATA)"
)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "0.0.0.0"])
def test_hosts(host):
    command = [sys.executable, "-m", "weft", "serve", "-m", STORIES, "--port", "0", "--host", host]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        line = ""
        while "serving" not in line:
            line = process.stdout.readline()
            assert line, process.stderr.read()
        found = re.search(rf"http://{re.escape(host)}:(\d+)$", line.strip())
        connection = http.client.HTTPConnection(host, int(found[1]), timeout=60)
        connection.request("GET", "/health")
        assert connection.getresponse().read() == b'{"status":"ok"}'
        connection.close()
        process.terminate()
        assert process.communicate(timeout=60) == ("stopped\n", "")


@pytest.mark.parametrize("host", ["no.such.name.invalid", "1.2.3", "local host", "http://localhost"])
def test_hosts_that_are_none(host):
    done = serving.run("-m", STORIES, "--port", "0", "--host", host)
    assert done.returncode == 1
    assert f"serve: '{host}' is no address of a network interface" in done.stderr


def test_keys():
    """The scheme is one word in letters of any case, the key is as it is."""
    with serving.serving("-m", STORIES, "--api-key", "Se cret") as server:
        for right in ("Bearer Se cret", "bearer Se cret", "BEARER Se cret", "bEaReR   Se cret"):
            assert server.ask("GET", "/v1/models", Authorization=right)[0] == 200
        for wrong in (
            "",
            "Bearer",
            "Bearer ",
            "Bearer se cret",
            "Bearer Se cret2",
            "BearerSe cret",
            "Basic Se cret",
            "Bearers Se cret",
            "Beare Se cret",
            "Se cret",
            "Bearer bearer Se cret",
        ):
            status, headers, _ = server.ask("GET", "/v1/models", Authorization=wrong)
            assert status == 401 and headers["WWW-Authenticate"] == "Bearer", wrong


@pytest.mark.parametrize("name", ["org/model", "a b", "100%", "50%25", "ü?#", "a+b", "%zz", "x%2", "%"])
def test_names_of_models(name):
    with serving.serving("-m", STORIES, "--name", name) as server:
        quoted = urllib.parse.quote(name, safe="")
        for path in {quoted, quoted.lower(), urllib.parse.quote(name)}:
            if urllib.parse.unquote(path) != name:
                continue
            status, _, answer = server.ask("GET", "/v1/models/" + path)
            assert (status, answer["id"]) == (200, name), path
        assert server.ask("GET", "/v1/models/" + quoted + "x")[0] == 404
        assert server.complete(model=name, prompt="Once", max_tokens=1)["model"] == name


# ---- the page ----------------------------------------------------------------------------------------------
def luminance(colour):
    """source: WCAG 2.2, relative luminance."""
    digits = colour.removeprefix("#")
    digits = "".join(2 * digit for digit in digits) if len(digits) == 3 else digits
    parts = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    parts = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def test_the_page_can_be_read_in_both_schemes():
    """All colours are the schemes' own, and text stands out from what is behind it as WCAG asks (4.5 : 1)."""
    with serving.serving("-m", STORIES) as server:
        style = re.search("<style>(.*)</style>", server.ask("GET", "/")[2], re.S)[1]
    assert "color-scheme: light dark" in style
    light, dark = (
        dict(re.findall(r"--(\w+): (#\w+)", part)) for part in re.findall(r":root \{([^}]*)\}", style)
    )
    assert light.keys() == dark.keys()
    rules = re.sub(r":root \{[^}]*\}", "", style)
    assert not re.search(r"#[0-9a-f]{3,6}\b", rules)
    assert set(re.findall(r"var\(--(\w+)\)", rules)) == light.keys()
    assert "textarea, input, button { font: inherit; color: var(--text); background: var(--field)" in rules
    for colours in (light, dark):
        for text in ("text", "quiet", "error"):
            for behind in ("page", "field"):
                one, other = sorted(luminance(colours[name]) + 0.05 for name in (text, behind))
                assert other / one >= 4.5, (text, behind, colours)
