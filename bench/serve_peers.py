#!/usr/bin/env python3
"""`weft serve` beside llama.cpp's server (xllamacpp in .venv-peers, which bench/setup_peers makes): random weights of one shape,
int8 here and Q8_0 there, the same prompts as tokens, the same threads on the same cores, texts of one length, streamed.

    python bench/serve_peers.py --shape llama-1b --streams 1,4,16 --rounds 3

Both servers are up; they are asked in turn, round after round, one resting while the other is measured. Tokens per second of a
round: all tokens, by the time from the first token of the last text that began to the last token of the first that ended. The time
to the first token is that of all prompts sent at once. Processor time counts threads that wait in loops, too. Medians of the rounds. Everything goes to build/bench/serve-peers.json.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
from llm_shapes import SHAPES, Shape
from llm_worker import write_gguf
from run import PEERS_PYTHON, TOP, pinned, print_table

WEFT = TOP / ".venv/bin/weft"


# ---- models of random weights ------------------------------------------------------------------------------------
def byte_letters() -> list[str]:
    """The characters that stand for bytes in vocabularies of byte pairs."""
    plain = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = [byte for byte in range(256) if byte not in plain]
    return [chr(byte) if byte in plain else chr(256 + others.index(byte)) for byte in range(256)]


def write_folder(folder: Path, shape: Shape, positions: int):
    """Hugging Face's files: bfloat16, which the server quantizes while it loads."""
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": shape.hidden,
        "intermediate_size": shape.intermediate,
        "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads,
        "num_key_value_heads": shape.kv_heads,
        "head_dim": shape.head_dim,
        "vocab_size": shape.vocabulary,
        "max_position_embeddings": positions,
        "rope_theta": shape.rope_base,
        "rms_norm_eps": 1e-5,
        "tie_word_embeddings": shape.tied,
        "torch_dtype": "bfloat16",
        "eos_token_id": shape.vocabulary - 1,
    }
    (folder / "config.json").write_text(json.dumps(config))
    letters = byte_letters()
    vocabulary = {letter: i for i, letter in enumerate(letters)}
    vocabulary |= {f"t{i}": i for i in range(256, shape.vocabulary)}
    pieces = {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False}
    tokenizer = {
        "model": {"type": "BPE", "vocab": vocabulary, "merges": []},
        "pre_tokenizer": pieces,
        "decoder": pieces,
        "added_tokens": [],
    }
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    tensors = {
        "model.embed_tokens.weight": (shape.vocabulary, shape.hidden),
        "model.norm.weight": (shape.hidden,),
    }
    if not shape.tied:
        tensors["lm_head.weight"] = (shape.vocabulary, shape.hidden)
    names = {"gate": "mlp.gate_proj", "up": "mlp.up_proj", "down": "mlp.down_proj"}
    for i in range(shape.layers):
        for norm in ("input_layernorm", "post_attention_layernorm"):
            tensors[f"model.layers.{i}.{norm}.weight"] = (shape.hidden,)
        for name, size in shape.matrices().items():
            tensors[f"model.layers.{i}.{names.get(name, f'self_attn.{name}_proj')}.weight"] = size
    header, offset = {}, 0
    for name, size in tensors.items():
        length = 2 * int(np.prod(size))
        header[name] = {"dtype": "BF16", "shape": size, "data_offsets": [offset, offset + length]}
        offset += length
    text = json.dumps(header).encode()
    rng = np.random.default_rng(0)
    with open(folder / "model.safetensors", "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for size in tensors.values():
            rows = max(1, 2**22 // size[-1])
            for first in range(0, size[0], rows):
                block = (
                    np.ones(size, np.float32)
                    if len(size) == 1
                    else rng.standard_normal((min(rows, size[0] - first), size[1]), dtype=np.float32) / 32
                )
                file.write((block.view(np.uint32) >> 16).astype(np.uint16).tobytes())
                if len(size) == 1:
                    break


# ---- servers -----------------------------------------------------------------------------------------------------
LLAMA_CPP = """
import sys, time
import xllamacpp
path, threads, streams, context = sys.argv[1], *map(int, sys.argv[2:])
p = xllamacpp.CommonParams()
p.model.path = path
p.n_parallel, p.n_ctx = streams, streams * context
p.kv_unified = False
p.cont_batching, p.cache_prompt, p.warmup = True, False, True
p.cache_ram_mib = 0
p.port = 0
for cpu in (p.cpuparams, p.cpuparams_batch):
    cpu.n_threads = threads
server = xllamacpp.Server(p)
print(xllamacpp.get_system_info())
print("listening", server.listening_address, flush=True)
sys.stdin.read()
"""


class Server:
    def __init__(self, name: str, command: list, threads: int, log: Path):
        self.name = name
        with pinned(threads):
            self.process = subprocess.Popen(
                [str(part) for part in command],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log.open("w"),
                text=True,
                env={**os.environ, "OMP_NUM_THREADS": str(threads)},
            )
        self.said = ""
        for line in self.process.stdout:
            self.said += line
            if found := re.search(r"http://127\.0\.0\.1:(\d+)", line):
                self.port = int(found[1])
                break
        else:
            raise SystemExit(f"{name} did not start: {log}")

    def processor_seconds(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self):
        self.process.terminate()
        self.process.wait(60)


def stream(port: int, prompt: list[int], tokens: int, times: list[float]):
    """The time of each piece of a text; there is one for each token, or nearly so."""
    body = {
        "prompt": prompt,
        "max_tokens": tokens,
        "temperature": 0,
        "ignore_eos": True,
        "stream": True,
        "stream_options": {"include_usage": True},
        "cache_prompt": False,
    }
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=1200)
    connection.request("POST", "/v1/completions", json.dumps(body), {"Content-Type": "application/json"})
    response = connection.getresponse()
    if response.status != 200:
        raise SystemExit(response.read().decode())
    usage = None
    for line in response:
        if not line.startswith(b"data: {"):
            continue
        event = json.loads(line[6:])
        usage = event.get("usage") or usage
        if event.get("choices"):
            times.append(time.perf_counter())
    connection.close()
    if usage["completion_tokens"] != tokens:
        raise SystemExit(f"{usage['completion_tokens']} tokens, {tokens} were asked for")


def measure(server: Server, prompts: list[list[int]], tokens: int) -> dict[str, float]:
    """Tokens per second while all texts are written, the median time to the first token, and processor time, waiting in
    loops included, by all tokens of texts.
    """
    times = [[] for _ in prompts]
    threads = [
        threading.Thread(target=stream, args=(server.port, prompt, tokens, own))
        for prompt, own in zip(prompts, times, strict=True)
    ]
    processor, start = server.processor_seconds(), time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if not all(times):
        raise SystemExit(f"{server.name} did not answer")
    begin, end = max(own[0] for own in times), min(own[-1] for own in times)
    share = [sum(begin < at <= end for at in own) / len(own) * tokens for own in times]
    return {
        "tokens_per_second": sum(share) / (end - begin),
        "first_token": statistics.median(own[0] for own in times) - start,
        "processor_ms": (server.processor_seconds() - processor) / (tokens * len(prompts)) * 1e3,
    }


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--shape", default="llama-1b", choices=list(SHAPES))
    parser.add_argument("--layers", type=int)
    parser.add_argument("--streams", default="1,4,16")
    parser.add_argument("--prompt", type=int, default=32)
    parser.add_argument("--generate", type=int, default=48)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--python", default=PEERS_PYTHON, help="one that has xllamacpp")
    options = parser.parse_args()
    shape, counts = (
        SHAPES[options.shape].with_layers(options.layers),
        [int(n) for n in options.streams.split(",")],
    )
    context = -(-(options.prompt + options.generate + 16) // 256) * 256
    output = TOP / "build/bench"
    output.mkdir(parents=True, exist_ok=True)
    results = []
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        (folder / "weft").mkdir()
        write_folder(folder / "weft", shape, context)
        write_gguf(folder / "random.gguf", shape, "q8_0", context)
        most = max(counts)
        weft = [WEFT, "serve", "-m", folder / "weft", "--quantize", "int8", "--threads", options.threads]
        servers = [
            Server(
                "weft", [*weft, "--port", 0, "--max-batch", most], options.threads, output / "weft-serve.log"
            ),
            Server(
                "llama.cpp",
                [options.python, "-c", LLAMA_CPP, folder / "random.gguf", options.threads, most, context],
                options.threads,
                output / "llama-cpp-serve.log",
            ),
        ]
        try:
            rng = np.random.default_rng(1)
            for server in servers:
                measure(server, [[300] * 4], 4)
            for round_ in range(options.rounds):
                for count in counts:
                    prompts = rng.integers(300, shape.vocabulary - 300, (count, options.prompt)).tolist()
                    for server in servers if round_ % 2 == 0 else servers[::-1]:
                        found = measure(server, prompts, options.generate)
                        results.append({"server": server.name, "streams": count, **found})
                        print(json.dumps(results[-1]), file=sys.stderr, flush=True)
        finally:
            for server in servers:
                server.stop()
    for server in servers:  # which instructions llama.cpp was built with, for one
        print(server.said, end="")
    (output / "serve-peers.json").write_text(
        json.dumps({**vars(options), "python": str(options.python), "results": results})
    )
    rows = []
    for count in counts:
        row, rates = [str(count)], []
        for server in servers:
            mine = [r for r in results if (r["server"], r["streams"]) == (server.name, count)]
            rate, first, processor = (
                statistics.median(r[key] for r in mine)
                for key in ("tokens_per_second", "first_token", "processor_ms")
            )
            rates.append(rate)
            row += [f"{rate:.1f}", f"{first:.2f}", f"{processor:.0f}"]
        rows.append([*row, f"{rates[0] / rates[1]:.2f}"])
    header = [f"{server.name} {what}" for server in servers for what in ("tok/s", "first s", "cpu ms/tok")]
    print_table(["streams", *header, "ratio"], rows)


if __name__ == "__main__":
    main()
