"""The page at / of `weft serve`, in a browser: Debian's chromium, which is not among what the tests install."""

import os
import pathlib
import re

import pytest
import serving
from browser import browsing, find_browser

SHARED = pathlib.Path(
    os.environ.get("WEFT_SHARED_DATA", pathlib.Path(__file__).parents[2] / ".." / "shared" / "data")
)
STORIES = str(SHARED / "stories260k")
pytestmark = [
    pytest.mark.skipif(find_browser() is None, reason="no Chromium (Debian: chromium)"),
    pytest.mark.skipif(not pathlib.Path(STORIES).is_dir(), reason="no shared data (WEFT_SHARED_DATA)"),
]


@pytest.fixture(scope="module")
def server():
    with serving.serving("-m", STORIES, "--name", "stories") as server:
        yield server


@pytest.fixture
def page(server):
    with browsing() as browser:
        browser.open(f"http://127.0.0.1:{server.port}/")
        yield browser
        assert browser.complaints == []


def begin(page, tokens, temperature=0):
    page.fill("#tokens", str(tokens))
    page.fill("#temperature", str(temperature))
    page.click("#send")
    page.wait("running !== null || document.querySelector('#figures').textContent.includes('token')")


def test_a_text_is_written_piece_by_piece(page, server, tmp_path):
    page.wait("document.querySelector('#model').textContent === 'stories'")
    page.fill("#prompt", "Once upon")
    page.evaluate(
        "globalThis.lengths = new Set();"
        "new MutationObserver(() => lengths.add(document.querySelector('#answer').textContent.length))"
        ".observe(document.querySelector('#answer'), { childList: true })"
    )
    begin(page, 60)
    page.wait("running === null")
    text = server.complete(prompt="Once upon", max_tokens=60, temperature=0)["choices"][0]["text"]
    assert page.text("#answer") == "Once upon" + text
    assert page.evaluate("lengths.size") > 20  # it grew
    assert re.fullmatch(r"first token after \d+\.\d\d s, \d+\.\d tokens/s", page.text("#figures"))
    assert page.evaluate("[at('send').disabled, at('stop').disabled]") == [False, True]
    if folder := os.environ.get("PAGE_SCREENSHOTS"):
        page.screenshot(pathlib.Path(folder) / "page.png")


def test_chats_and_markup(page, server):
    page.click("#chat")
    page.fill("#prompt", "<b>Tell</b> me a story")
    begin(page, 20)
    page.wait("running === null")
    message = {"role": "user", "content": "<b>Tell</b> me a story"}
    answer = server.complete(serving.CHAT, messages=[message], max_tokens=20, temperature=0)
    assert page.text("#answer") == answer["choices"][0]["message"]["content"]
    page.click("#chat")
    begin(page, 5)
    page.wait("running === null")
    assert page.text("#answer").startswith("<b>Tell</b>")
    assert page.evaluate("document.querySelector('#answer b')") is None


def test_stop_cancels(page, server):
    before = server.figures()['weft_requests_total{outcome="cancelled"}']
    # What the model writes is slowed down for the button to be reached: another 64 texts are written meanwhile.
    page.evaluate(
        "Promise.all([...Array(4)].map(() => fetch('v1/completions', { method: 'POST', headers: headers(),"
        " body: JSON.stringify({ prompt: 'Once', max_tokens: 400, n: 16, ignore_eos: true, stream: true }) })"
        ".then((response) => { (globalThis.others ||= []).push(response); }))).then(() => null)"
    )
    begin(page, 400)
    page.click("#stop")
    page.wait("running === null")
    page.evaluate("others.map((response) => response.body.cancel()), null")
    server.wait_for(held=0, running=0, waiting=0)
    assert server.figures()['weft_requests_total{outcome="cancelled"}'] > before
    begin(page, 5)
    page.wait("running === null")
    assert "first token after" in page.text("#figures")


def test_errors_are_shown(server):
    with browsing() as page:
        page.open(f"http://127.0.0.1:{server.port}/")
        page.evaluate("at('prompt').value = 'a '.repeat(2000), null")
        begin(page, 5)
        page.wait("running === null")
        assert page.evaluate("at('answer').className") == "error"
        assert "512" in page.text("#answer") and page.text("#figures") == ""


def test_keys():
    with serving.serving("-m", STORIES, "--api-key", "secret", "--name", "stories") as server:
        with browsing() as page:
            page.open(f"http://127.0.0.1:{server.port}/")
            begin(page, 5)
            page.wait("running === null")
            assert "API key" in page.text("#answer")
            page.fill("#key", "secret")
            page.evaluate("at('key').dispatchEvent(new Event('change')), null")
            page.wait("document.querySelector('#model').textContent === 'stories'")
            begin(page, 5)
            page.wait("running === null")
            assert page.evaluate("at('answer').className") == "" and "first token" in page.text("#figures")
