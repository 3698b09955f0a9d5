"""Wrong calls of the weft command: one line on stderr that begins with `weft:`, status 2, nothing on stdout."""

import os
import pathlib
import subprocess
import sys

import pytest
import weft

COMMAND = pathlib.Path(weft.__file__).parent / "bin" / "weft"
STORIES = pathlib.Path(os.environ.get("WEFT_SHARED_DATA", "../shared/data")) / "stories260k"
needs_data = pytest.mark.skipif(not STORIES.is_dir(), reason="no shared data (WEFT_SHARED_DATA)")

# What is given, and what the answer says.
GENERATE = "generate --model m --prompt x"
BENCH = "bench llm --shape tiny --random-weights"
WRONG = [
    # commands
    ("", "expected a command: "),
    ("bogus", "unknown command 'bogus'; the commands are "),
    ("inspct m.pt", "unknown command 'inspct'; did you mean 'inspect'?"),
    ("generte --model m", "did you mean 'generate'?"),
    ("quantise m out", "did you mean 'quantize'?"),
    ("Run m.pt", "did you mean 'run'?"),
    ("--verson", "unknown option '--verson'; did you mean '--version'?"),
    ("--json", "unknown option '--json'"),
    ("cache", "cache: expected a command: info or clear"),
    ("cache clean", "cache: unknown command 'clean'; did you mean 'clear'?"),
    ("eval", "eval: expected a command: perplexity"),
    ("eval perplexty --model m", "did you mean 'perplexity'?"),
    ("bench", "bench: expected a command: "),
    ("bench cellings", "did you mean 'ceilings'?"),
    # run
    ("run", "run: the argument 'model' is missing"),
    ("run m.pt --inptu x.npz", "run: unknown option '--inptu'; did you mean '--input'?"),
    ("run m.pt --repeat 0", "--repeat: expected an integer between 1 and "),
    ("run m.pt --repeat two", "--repeat: expected an integer between 1 and 100000000, got 'two'"),
    ("run m.pt --repeat 1.5", "got '1.5'"),
    ("run m.pt --repeat -1", "got '-1'"),
    ("run m.pt --repeat 99999999999999999999", "got '99999999999999999999'"),
    ("run m.pt --warmup -1", "--warmup: expected an integer between 0 and "),
    ("run m.pt --threads 0", "--threads: expected an integer between 1 and 1024, got '0'"),
    ("run m.pt --threads 2000", "got '2000'"),
    ("run m.pt --interop-threads x", "--interop-threads: expected an integer"),
    ("run m.pt --output o.txt", "--output: expected a file that ends in .npz or .npy, got 'o.txt'"),
    ("run m.pt --output out", "ends in .npz or .npy, got 'out'"),
    ("run m.pt --input x.csv", "--input: expected a file that ends in .npz or .npy, got 'x.csv'"),
    ("run m.pt --method", "--method: expected a value"),
    ("run m.pt --method a --method b", "--method: given more than once"),
    ("run m.pt extra", "run: unexpected argument 'extra'"),
    ("run m.pt --json=perhaps", "--json"),
    ("run m.pt --optimise", "did you mean '--optimize'?"),
    # inspect
    ("inspect", "inspect: the argument 'model' is missing"),
    ("inspect m.pt --codes", "did you mean '--code'?"),
    ("inspect m.pt n.pt", "unexpected argument 'n.pt'"),
    # info, env, parallel_info, cache, ceilings
    ("info --jsn", "info: unknown option '--jsn'; did you mean '--json'?"),
    ("info now", "info: unexpected argument 'now'"),
    ("env --jason", "did you mean '--json'?"),
    ("parallel_info --json", "parallel_info: unknown option '--json'"),
    ("cache info --yes", "cache info: unknown option '--yes'"),
    ("cache clear all", "cache clear: unexpected argument 'all'"),
    (
        "bench ceilings --threads 0",
        "bench ceilings: --threads: expected an integer between 1 and 1024, got '0'",
    ),
    ("bench ceilings --thread 1", "did you mean '--threads'?"),
    # generate
    ("generate", "generate: the option '--model' is missing"),
    ("generate --modle m --prompt x", "generate: unknown option '--modle'; did you mean '--model'?"),
    (
        "generate --model m",
        "generate: give --prompt TEXT, --prompt-file FILE, text on standard input, or --interactive",
    ),
    (GENERATE + " --prompt-file f", "give --prompt or --prompt-file, not both"),
    (GENERATE + " --prompt y", "--prompt: given more than once"),
    (GENERATE + " --seed -1", "--seed: expected an integer between 0 and 2^64 - 1, got '-1'"),
    (GENERATE + " --seed 18446744073709551616", "--seed: expected"),
    (GENERATE + " --seed now", "got 'now'"),
    (GENERATE + " --temperature -0.5", "--temperature: expected a number of at least 0, got '-0.5'"),
    (GENERATE + " --temperature nan", "got 'nan'"),
    (GENERATE + " --temperature inf", "got 'inf'"),
    (GENERATE + " --temperature warm", "got 'warm'"),
    (GENERATE + " --top-p 0", "--top-p: expected a number above 0 and at most 1, got '0'"),
    (GENERATE + " --top-p 1.1", "got '1.1'"),
    (GENERATE + " --top-p nan", "got 'nan'"),
    (GENERATE + " --top-k -1", "--top-k: expected an integer of at least 0, got '-1'"),
    (GENERATE + " --min-p 2", "--min-p: expected a number of at least 0 and at most 1, got '2'"),
    (GENERATE + " --repetition-penalty 0", "--repetition-penalty: expected a number above 0, got '0'"),
    (GENERATE + " -n -1", "--max-new-tokens: expected an integer between 0 and "),
    (GENERATE + " --max-new-tokens 1e3", "got '1e3'"),
    (GENERATE + " --stop=", "--stop"),
    (GENERATE + " --speculate-k 0", "--speculate-k: expected an integer between 1 and 7, got '0'"),
    (GENERATE + " --speculate-k 8", "got '8'"),
    (
        GENERATE + " --draft prompt-lokup",
        "--draft: expected prompt-lookup, got 'prompt-lokup'; did you mean 'prompt-lookup'?",
    ),
    (GENERATE + " --draft prompt-lookup --draft-model d", "give --draft or --draft-model, not both"),
    (GENERATE + " --system s", "--system needs --chat or --interactive"),
    (GENERATE + " --chat-template chatml", "--chat-template needs --chat or --interactive"),
    (GENERATE + " --chat --chat-template lama3", "did you mean 'llama3'?"),
    (
        GENERATE + " --dtype float33",
        "--dtype: expected float32, bfloat16 or float16, got 'float33'; did you mean 'float32'?",
    ),
    (GENERATE + " --quantize int4-g33", "--quantize: expected int8, "),
    (GENERATE + " --quantize int4_g32", "did you mean 'int4-g32'?"),
    (
        GENERATE + " --cache-dtype int4",
        "--cache-dtype: expected float32, bfloat16, float16 or int8, got 'int4'",
    ),
    (GENERATE + " --activations int6", "did you mean 'int16'?"),
    (GENERATE + " --max-positions 0", "--max-positions: expected an integer between 1 and "),
    (GENERATE + " --threads many", "--threads: expected an integer"),
    # quantize
    ("quantize", "quantize: the argument 'input' is missing"),
    ("quantize m", "quantize: the argument 'output' is missing"),
    ("quantize m out --scheme int4-g16", "--scheme: expected int8, int4-g32, "),
    ("quantize m out --scheme int5", "did you mean 'int8'?"),
    ("quantize m out --gptq", "quantize: --gptq and --calibration go together"),
    ("quantize m out --calibration t.txt", "quantize: --gptq and --calibration go together"),
    ("quantize m out --gptq --calibration t.txt", "quantize: --gptq is for int4 schemes, got 'int8'"),
    ("quantize m out --calibration-tokens 0", "--calibration-tokens: expected an integer between 1 and "),
    # eval perplexity
    ("eval perplexity --model m", "eval perplexity: the option '--text' is missing"),
    ("eval perplexity --model m --text t --context 1", "--context: expected an integer between 2 and "),
    ("eval perplexity --model m --text t --stride 0", "--stride: expected an integer between 1 and "),
    (
        "eval perplexity --model m --text t --context 8 --stride 8",
        "--stride must be below --context 8, got 8",
    ),
    # serve
    ("serve", "serve: give --model, --archive or --checkpoint"),
    ("serve --model m --archive a", "serve: --model excludes --archive"),
    ("serve --archive a --checkpoint b", "serve: --archive excludes --checkpoint"),
    ("serve --archive a --quantize int8", "serve: --quantize requires --model"),
    ("serve --model m --batch-window-ms 1", "serve: --batch-window-ms requires --archive"),
    ("serve --archive a --batch-window-ms -1", "--batch-window-ms: expected a number"),
    ("serve --model m --port 70000", "serve: --port: expected an integer between 0 and 65535, got '70000'"),
    ("serve --model m --api-key a --api-key-file b", "serve: --api-key excludes --api-key-file"),
    ("serve --model m --request-timeout 0", "--request-timeout: expected a number above 0"),
    ("serve --model m --activations bfloat16", "--activations: expected auto, float32, int16 or int8"),
    ("bench serve", "bench serve: the option '--shape' is missing"),
    ("bench serve --shape tiny --streams 0", "bench serve: --streams: expected an integer between 1 and"),
    # bench llm
    ("bench llm", "bench llm: give --model FOLDER, or --shape NAME with --random-weights"),
    ("bench llm --shape tiny", "--shape has no weights of its own: add --random-weights"),
    ("bench llm --shape tinny --random-weights", "did you mean 'tiny'?"),
    ("bench llm --shape llama-70b --random-weights", "--shape: expected llama-13b, "),
    (BENCH + " --model m", "give --model, or --shape with --random-weights, not both"),
    (BENCH + " --pp -1", "--pp: expected an integer between 0 and "),
    (BENCH + " --tg 1,x", "--tg: expected an integer between 0 and 1048576, got 'x'"),
    (BENCH + " --depth -1", "--depth: expected an integer"),
    (BENCH + " --layers 0", "--layers: expected an integer between 1 and 1000, got '0'"),
    (BENCH + " --repetitions 0", "--repetitions: expected an integer between 1 and 1000, got '0'"),
    (BENCH + " --schemes int8,int9", "--schemes: expected int8, "),
    (BENCH + " --format cvs", "--format: expected md, json or csv, got 'cvs'; did you mean 'csv'?"),
    (BENCH + " --draft-shape tiny", "--draft-shape is for --ladder"),
    (BENCH + " --llama-cpp d", "--llama-cpp measures GGUF files: give --model FILE.gguf"),
    ("bench llm -m m.gguf --llama-cpp d --schemes int8", "measures the file as it is: leave --schemes out"),
    ("bench llm -m m.gguf --llama-cpp=", "--llama-cpp: expected"),
    # compile
    ("compile", "compile: the script is missing"),
    ("compile --reprot s.py", "compile: unknown option '--reprot'; did you mean '--report'?"),
    ("compile --json", "compile: --json: expected a file"),
    ("compile --json=", "compile: --json: expected a file, got ''"),
    ("compile -x s.py", "compile: unknown option '-x'"),
]


def call(arguments, **options):
    environment = {
        **os.environ,
        "PATH": f"{pathlib.Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }
    return subprocess.run([COMMAND, *arguments], capture_output=True, env=environment, timeout=120, **options)


@pytest.mark.parametrize("arguments, message", WRONG, ids=[arguments or "nothing" for arguments, _ in WRONG])
def test_wrong_calls(arguments, message):
    done = call(arguments.split(), stdin=subprocess.DEVNULL)
    error = done.stderr.decode()
    assert (done.returncode, done.stdout) == (2, b""), error
    assert error.startswith("weft: ") and error.count("\n") == 1 and error.endswith("\n"), error
    assert message in error


@pytest.mark.parametrize("text", [b"\xff\xfe", b"\x1b[31mred", "é\u202e".encode(), b"x" * 5000, b"a\nb"])
@pytest.mark.parametrize(
    "before", [[], ["run"], ["run", "m.pt", "--repeat"], ["generate", "--dtype"], ["info"]]
)
def test_wrong_calls_with_odd_bytes(before, text):
    done = call([*before, text], stdin=subprocess.DEVNULL)
    error = done.stderr.decode()  # valid UTF-8, and nothing that moves a cursor
    assert done.returncode in (1, 2) and error.startswith("weft: "), error
    assert error.count("\n") == 1 and "\x1b" not in error and len(error) < 1000


@pytest.mark.parametrize(
    "arguments", ["--help", "--version", "run --help", "bench llm --help", "compile --help"]
)
def test_help_is_no_error(arguments):
    done = call(arguments.split(), stdin=subprocess.DEVNULL)
    assert done.returncode == 0 and done.stdout and not done.stderr


def test_missing_files_are_no_wrong_calls(tmp_path):
    for arguments in (["run", "none.pt"], ["generate", "-m", "none", "-p", "x"], ["compile", "none.py"]):
        done = call(arguments, stdin=subprocess.DEVNULL, cwd=tmp_path)
        error = done.stderr.decode()
        assert done.returncode == 1 and error.startswith("weft: ") and "none" in error, error


@needs_data
def test_generate_reads_a_pipe():
    asked = ["generate", "--model", STORIES, "-n", "5", "--json"]
    piped = call(asked, input=b"Once upon a time\n")
    assert piped.returncode == 0, piped.stderr
    given = call([*asked, "--prompt", "Once upon a time"], stdin=subprocess.DEVNULL)
    assert piped.stdout.split(b'"prompt_tokens"')[0] == given.stdout.split(b'"prompt_tokens"')[0]
    empty = call(asked, input=b"")
    assert empty.returncode == 2 and b"the prompt on standard input is empty" in empty.stderr
    assert call([*asked, "--prompt", ""], stdin=subprocess.DEVNULL).returncode == 0
    damaged = call(asked, input=b"\xff")
    assert damaged.returncode == 1 and b"not valid UTF-8" in damaged.stderr


@needs_data
@pytest.mark.parametrize("scheme", ["int4-g128", "int4-g256"])
def test_groups_longer_than_rows(scheme, tmp_path):
    message = (
        f"{scheme}: groups of {scheme.removeprefix('int4-g')} weights are longer than the model's rows of 64"
    )
    for arguments in (
        ["generate", "--model", STORIES, "--prompt", "x", "--quantize", scheme],
        ["quantize", STORIES, tmp_path / "out", "--scheme", scheme],
    ):
        done = call(arguments, stdin=subprocess.DEVNULL)
        assert done.returncode == 1 and message in done.stderr.decode(), done.stderr
    assert not (tmp_path / "out").exists()
