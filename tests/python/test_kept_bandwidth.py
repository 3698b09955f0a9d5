"""`weft generate` measures how fast this machine reads memory once, and not where the user has ended the text."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys

import pytest

SHARED = pathlib.Path(
    os.environ.get("WEFT_SHARED_DATA", pathlib.Path(__file__).parents[2] / ".." / "shared" / "data")
)
STORIES = str(SHARED / "stories260k")
WEFT = [sys.executable, "-m", "weft"]
pytestmark = pytest.mark.skipif(
    not pathlib.Path(STORIES).is_dir(), reason="no shared data (WEFT_SHARED_DATA)"
)


def test_the_bandwidth_is_measured_once(tmp_path):
    def measured(folder):
        command = [*WEFT, "generate", "-m", STORIES, "-n", "4", "--json", "-p", "Once"]
        environment = {**os.environ, "WEFT_CACHE_DIR": str(tmp_path / folder)}
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)
        return json.loads(done.stdout)["read_gb_per_second"]

    first = measured("one")
    assert first > 0 and measured("one") == first
    kept = [path for path in (tmp_path / "one").rglob("*") if "ceilings" in path.name]
    assert len(kept) == 1
    kept[0].write_bytes(b"damaged")
    assert measured("one") > 0


def test_nothing_is_measured_after_ctrl_c(tmp_path):
    model = tmp_path / "model"
    model.mkdir()
    for file in pathlib.Path(STORIES).iterdir():
        (model / file.name).symlink_to(file.resolve())
    config = json.loads((model / "config.json").read_text()) | {"max_position_embeddings": 100_000}
    (model / "config.json").unlink()
    (model / "config.json").write_text(json.dumps(config))
    command = [*WEFT, "generate", "-m", str(model), "--prompt", "", "-n", "100000", "--ignore-eos"]
    command += ["--max-positions", "100000"]
    environment = {**os.environ, "WEFT_CACHE_DIR": str(tmp_path / "cache")}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        process.stdout.read(1)
        process.send_signal(signal.SIGINT)
        _, summary = process.communicate(timeout=60)
    assert process.returncode == 130
    assert re.search(r"^weights  \S+ \S+ per token$", summary, re.M)
    assert not [path for path in (tmp_path / "cache").rglob("*") if "ceilings" in path.name]
