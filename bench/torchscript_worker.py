"""Runs TorchScript in weft or in PyTorch, as bench/torchscript.py asks: worker.py weft|torch THREADS INTEROP_THREADS

One JSON object per line on stdin, one answer per line on stdout; a failure answers {"error": "..."}.
    {"do": "hello"}                                       -> {"version": "1.13.1", "threads": 2, "interop_threads": 2}
    {"do": "make", "folder": "..."}                       -> {}   (PyTorch only: scripts and saves the synthetic programs)
    {"do": "prepare", "model": "m.pt", "arrays": "m.npz"} -> {"outputs": [...]}   (loaded, optimized, warmed up)
    {"do": "time", "calls": 10}                           -> {"seconds": [...]}
    {"do": "load", "model": "m.pt", "repeats": 10}        -> {"seconds": [...]}
    {"do": "serve", "threads": 8, "seconds": 2.0}         -> {"calls_per_second": 90.0, "threads_alive": 12}
"""

import json
import os
import sys
import threading
import time
import traceback
import warnings

import numpy as np

NAME, THREADS, INTEROP_THREADS = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
WARM_UP = 20


class Weft:
    def __init__(self):
        import weft
        import weft.jit

        self.version, self.from_numpy, self.jit = weft.__version__, weft.from_numpy, weft.jit
        weft.set_num_threads(THREADS)
        weft.set_num_interop_threads(INTEROP_THREADS)
        self.settings = weft.get_num_threads(), weft.get_num_interop_threads()

    def load(self, path):
        return self.jit.load(path)

    def optimize(self, module):
        return self.jit.optimize_for_inference(module)

    def call(self, module, arguments):
        return module(*arguments)


class Torch:
    def __init__(self):
        import torch

        warnings.filterwarnings("ignore", "An output with one or more elements was resized")
        self.torch, self.version, self.from_numpy = torch, torch.__version__, torch.from_numpy
        torch.set_num_threads(THREADS)
        torch.set_num_interop_threads(INTEROP_THREADS)
        self.settings = torch.get_num_threads(), torch.get_num_interop_threads()

    def load(self, path):
        return self.torch.jit.load(path)

    def optimize(self, module):
        return self.torch.jit.optimize_for_inference(self.torch.jit.freeze(module.eval()))

    def call(self, module, arguments):
        with self.torch.inference_mode():
            return module(*arguments)

    def make(self, folder):
        """Programs that measure one thing each, as archives that both sides load."""
        import torchscript_programs

        for name, module in torchscript_programs.scripted():
            module.save(f"{folder}/{name}.pt")


class Worker:
    def __init__(self):
        self.library = {"weft": Weft, "torch": Torch}[NAME]()
        self.module = self.arguments = None

    def hello(self):
        threads, interop_threads = self.library.settings
        return {"version": self.library.version, "threads": threads, "interop_threads": interop_threads}

    def make(self, folder):
        self.library.make(folder)
        return {}

    def prepare(self, model, arrays):
        with np.load(arrays) as file:
            inputs = [file[f"in.{i}"] for i in range(sum(key.startswith("in.") for key in file))]
        self.arguments = [self.library.from_numpy(a) if a.ndim else a.item() for a in inputs]
        self.module = self.library.optimize(self.library.load(model))
        for _ in range(WARM_UP):
            output = self.call()
        return {"outputs": [float(value) for value in output.detach().numpy().ravel()[:1000]]}

    def call(self):
        return self.library.call(self.module, self.arguments)

    def time(self, calls):
        seconds = []
        for _ in range(calls):
            start = time.perf_counter()
            self.call()
            seconds.append(time.perf_counter() - start)
        return {"seconds": seconds}

    def load(self, model, repeats):
        seconds = []
        for _ in range(repeats):
            start = time.perf_counter()
            self.library.load(model)
            seconds.append(time.perf_counter() - start)
        return {"seconds": seconds}

    def serve(self, threads, seconds):
        """Calls of the prepared module from so many application threads; threads alive are counted meanwhile."""
        counts = [0] * threads
        start = threading.Barrier(threads + 1)
        stop = threading.Event()

        def run(index):
            start.wait()
            while not stop.is_set():
                self.call()
                counts[index] += 1

        workers = [threading.Thread(target=run, args=(i,)) for i in range(threads)]
        for worker in workers:
            worker.start()
        start.wait()
        begin = time.perf_counter()
        time.sleep(seconds / 2)
        alive = len(os.listdir("/proc/self/task"))
        time.sleep(seconds / 2)
        stop.set()
        for worker in workers:
            worker.join()
        return {"calls_per_second": sum(counts) / (time.perf_counter() - begin), "threads_alive": alive}


def serve(make):
    """Answers the requests by the methods of make()."""
    answers = sys.stdout
    sys.stdout = sys.stderr
    worker = None
    for line in sys.stdin:
        try:
            request = json.loads(line)
            worker = worker or make()
            answer = getattr(worker, request.pop("do"))(**request)
        except Exception:
            answer = {"error": traceback.format_exc()}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    serve(Worker)
