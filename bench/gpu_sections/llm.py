"""Llama-7B's shape, batch 1, weights that mean nothing: a decoded token, and a prompt.

The same program runs on both sides (llm_program.py). On weft's there is also weft.models.Llama, which `weft generate` and
`weft serve` run: its figures end with the logits on the host.
"""

import time

from llm_shapes import SHAPES

from .llm_program import bytes_per_token, make_llama, prompt_flops

LEAST_SHARES = {"bfloat16": 0.75, "int8": 0.75, "int4-g32": 0.60}
BEFORE = 512  # tokens that are there when decoding begins


def figures(side, shape, scheme, prompt, seconds):
    """What a step's time means; prompt: its tokens, None for a decoded one."""
    if prompt:
        return {"seconds": seconds, "flops": prompt_flops(shape, prompt), "tokens": prompt,
                "share_of": "bfloat16 rate", "least_share": 0.6}  # fmt: skip
    length = side.size(BEFORE, 8) + side.size(64, 2) // 2
    return {"seconds": seconds, "bytes": bytes_per_token(shape, scheme, length), "tokens": 1,
            "share_of": "read", "least_share": LEAST_SHARES[scheme], "least_ratio": {"torch_compile": 1}}  # fmt: skip


class Program:
    """The model of one scheme with room for so many tokens, made when it is first used and until another is."""

    def __init__(self, side, shape):
        self.side, self.shape, self.made, self.model = side, shape, None, None

    def make(self, scheme, capacity):
        if self.made != (scheme, capacity):
            self.model = None
            self.model = make_llama(self.side, self.shape, scheme, capacity)
            self.made = scheme, capacity

    def step(self, compiled, **options):
        model = self.model

        def run(tokens, position):
            return model(tokens, position)

        return self.side.compile(run, fullgraph=True, **options) if compiled else run

    def decode(self, scheme, compiled):
        """Mean time of a token, each of which is the next step's input, in the fastest of three runs."""
        side, torch = self.side, self.side.torch
        before, count = side.size(BEFORE, 8), side.size(64, 2)
        self.make(scheme, before + count)  # PyTorch's attention reads all of the room
        step = self.step(compiled, mode="reduce-overhead")

        def generate():
            token = torch.ones(1, dtype=torch.int64, device=side.device)
            position = torch.full((1,), before, dtype=torch.int64, device=side.device)
            for _ in range(count):
                token = step(token, position).clone()
                position += 1

        generate(), side.wait()
        taken = []
        for _ in range(side.size(3, 1)):
            start = time.perf_counter()
            generate(), side.wait()
            taken.append((time.perf_counter() - start) / count)
        return figures(side, self.shape, scheme, None, min(taken))

    def prefill(self, tokens, compiled):
        side, torch = self.side, self.side.torch
        self.make("bfloat16", side.size(2048, 24))
        step = self.step(compiled)
        prompt = torch.arange(tokens, device=side.device) % self.shape.vocabulary
        position = torch.zeros(1, dtype=torch.int64, device=side.device)
        return figures(
            side, self.shape, "bfloat16", tokens, side.seconds(lambda: step(prompt, position), budget=1.0)
        )


class Model:
    """weft.models.Llama of one scheme."""

    def __init__(self, side, name, shape):
        self.side, self.name, self.shape, self.scheme, self.model = side, name, shape, None, None

    def of(self, scheme):
        import weft

        if self.scheme != scheme:
            self.model = None
            weights = {"dtype": scheme} if scheme == "bfloat16" else {"quantize": scheme}
            self.model = weft.models.Llama.random(
                self.name,
                max_positions=self.side.size(2048, 64),
                num_layers=self.shape.layers,
                device=self.side.device,
                **weights,
            )
            self.scheme = scheme
        return self.model

    def decode(self, scheme):
        side, model = self.side, self.of(scheme)
        cache, before, count = model.make_cache(), side.size(BEFORE, 8), side.size(64, 2)
        model.forward([1] * before, cache)
        taken = []
        for _ in range(side.size(3, 1)):
            cache.length, token = before, 1
            start = time.perf_counter()
            for _ in range(count):
                token = int(model.forward([token], cache).argmax())
            taken.append((time.perf_counter() - start) / count)
        return {**figures(side, self.shape, scheme, None, min(taken)), "beside": f"decode {scheme}"}

    def prefill(self, tokens):
        side, model = self.side, self.of("bfloat16")
        cache, prompt = model.make_cache(), list(range(1, tokens + 1))

        def run():
            cache.length = 0
            model.forward(prompt, cache)

        found = figures(side, self.shape, "bfloat16", tokens, side.seconds(run, budget=1.0))
        return {**found, "beside": f"prompt of {tokens}"}


def cases(side):
    name = side.size("llama-7b", "tiny")
    shape = SHAPES[name]
    program = Program(side, shape)
    prompts = side.size((512, 2048), (16, 24))
    # What PyTorch compiles longest comes last.
    for scheme in LEAST_SHARES:
        for way, compiled in reversed(side.ways()):
            yield f"decode {scheme}", way, lambda a=(scheme, compiled): program.decode(*a)
    for way, compiled in side.ways():
        for tokens in prompts:
            yield f"prompt of {tokens}", way, lambda a=(tokens, compiled): program.prefill(*a)
    program.model = None
    if not side.is_weft:
        return
    model = Model(side, name, shape)
    for scheme in LEAST_SHARES:
        yield f"decode {scheme}, weft.models", "weft", lambda scheme=scheme: model.decode(scheme)
        if scheme == "bfloat16":
            for tokens in prompts:
                yield f"prompt of {tokens}, weft.models", "weft", lambda tokens=tokens: model.prefill(tokens)
