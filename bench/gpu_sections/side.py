"""One of the two sides, weft or PyTorch: its tensors, its compiler, its clock."""

import statistics
import time
from contextlib import ExitStack


class Side:
    """torch: PyTorch, or weft's names of it. tiny: sizes that the emulated device can do, each call once."""

    def __init__(self, name, torch, device, tiny):
        self.name, self.torch, self.device, self.tiny = name, torch, device, tiny
        self.is_weft = name == "weft"

    def size(self, full, tiny):
        return tiny if self.tiny else full

    def wait(self):
        if self.device != "cpu":
            self.torch.cuda.synchronize()

    def active(self):
        """What sections run under."""
        stack = ExitStack()
        stack.enter_context(self.torch.inference_mode())
        if self.is_weft:
            import weft

            stack.enter_context(weft.device(self.device))
        return stack

    def compile(self, function, **options):
        """torch.compile. Tiny sizes are captured by PyTorch, and run as they are: its compiler takes long."""
        if not self.is_weft:
            self.torch.compiler.reset()  # what it compiled for other cases counts against its limit of recompilations
        if self.tiny and not self.is_weft:
            options = {"backend": "eager", "fullgraph": options.get("fullgraph", False)}
        return self.torch.compile(function, **options)

    def ways(self, compiled=True):
        """Names of the columns that this side's eager and compiled calls fill; weft has one, of compiled calls where both are."""
        if self.is_weft:
            return [("weft", compiled)]
        return [("torch", False)] + [("torch_compile", True)] * compiled

    def seconds(self, call, budget=0.3):
        """Median time of a call whose result stays on the device, of several in a row before they are waited for."""
        for _ in range(3):  # compiles, records, repeats
            call()
            self.wait()
        if self.tiny:
            return self._run(call, 1)
        once = self._run(call, 1)
        calls = max(1, min(100, int(0.02 / once)))
        repeats = max(3, min(9, int(budget / (once * calls))))
        return statistics.median(self._run(call, calls) for _ in range(repeats))

    def host_seconds(self, call, calls=200, repeats=15):
        """Median time until a call returns, whose work is not waited for."""
        for _ in range(5):
            call()
        taken = []
        for _ in range(self.size(repeats, 1)):
            self.wait()
            start = time.perf_counter()
            for _ in range(self.size(calls, 3)):
                call()
            taken.append((time.perf_counter() - start) / self.size(calls, 3))
        self.wait()
        return statistics.median(taken)

    def _run(self, call, calls):
        start = time.perf_counter()
        for _ in range(calls):
            call()
        self.wait()
        return (time.perf_counter() - start) / calls

    # ---- arrays that are made on the device, the same on both sides ------------------------------------------
    def bits(self, shape, seed=1):
        """int64 of [0, 2**24), spread evenly."""
        count = 1
        for size in shape:
            count *= size
        at = self.torch.arange(count, device=self.device, dtype=self.torch.int64)
        return ((at * 2654435761 + seed * 40503) & 0xFFFFFFFF).bitwise_right_shift(8).reshape(shape)

    def uniform(self, shape, dtype="bfloat16", scale=1.0, seed=1):
        """Numbers of [-scale, scale)."""
        dtype = getattr(self.torch, dtype)
        return (self.bits(shape, seed).to(self.torch.float32) * (scale * 2.0**-23) - scale).to(dtype)

    def integers(self, shape, dtype, low, high, seed=1):
        """Whole numbers of [low, high), of at most 2**15 values."""
        return ((self.bits(shape, seed) * (high - low)).bitwise_right_shift(24) + low).to(
            getattr(self.torch, dtype)
        )
