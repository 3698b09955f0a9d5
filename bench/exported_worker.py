"""Runs exported programs in weft or in PyTorch, as bench/exported.py asks: worker.py weft|torch THREADS INTEROP_THREADS

One JSON object per line on stdin, one answer per line on stdout; a failure answers {"error": "..."}.
    {"do": "hello"}                                               -> {"version": "2.15.0"}
    {"do": "make", "folder": "...", "name": "resnet18"}           -> {}   (PyTorch: resnet18.pt2, .pth, .npz)
    {"do": "prepare", "folder": "...", "name": "...", "way": "…"} -> {"outputs": [...]}   (loaded, compiled, warmed up)
    {"do": "time", "seconds": 0.5}                                -> {"seconds": [...]}   (processor time of each call)
    {"do": "load", "folder": "...", "name": "..."}                -> {"seconds": [...]}
"""

import sys
import time

import numpy as np
from torchscript_worker import serve

NAME, THREADS = sys.argv[1], int(sys.argv[2])


class Worker:
    def __init__(self):
        if NAME == "weft":
            import weft.torch as torch
            import weft.torchvision as torchvision
        else:
            import torch
            import torchvision
        self.torch, self.models = torch, torchvision.models
        torch.set_num_threads(THREADS)

    def hello(self):
        return {"version": self.torch.__version__}

    def _model(self, name):
        self.torch.manual_seed(0)
        return getattr(self.models, name)(weights=None).eval()

    def make(self, folder, name):
        torch = self.torch
        with torch.no_grad():
            model, x = self._model(name), torch.randn(1, 3, 224, 224)
            # Vision transformers begin with a last layer of zeros, whose results tell nothing.
            for parameter in model.parameters():
                if not parameter.any():
                    parameter.normal_(std=0.02)
            torch.export.save(torch.export.export(model, (x,)), f"{folder}/{name}.pt2")
            torch.save(model.state_dict(), f"{folder}/{name}.pth")
            np.savez(f"{folder}/{name}.npz", x=x.numpy(), y=model(x).numpy())
        return {}

    def prepare(self, folder, name, way):
        torch, path = self.torch, f"{folder}/{name}.pt2"
        self.x = torch.from_numpy(np.load(f"{folder}/{name}.npz")["x"])
        if way == "weft":
            self.call = torch.export.load(path).module()
        elif way == "weft optimized":
            self.call = torch.export.load(path).module().optimize_for_inference()
        elif way == "AOTInductor":
            package = torch._inductor.aoti_compile_and_package(
                torch.export.load(path), package_path=f"{folder}/{name}_aoti.pt2"
            )
            self.call = torch._inductor.aoti_load_package(package)
        else:
            model = self._model(name)
            model.load_state_dict(torch.load(f"{folder}/{name}.pth"))
            self.call = torch.compile(model)
        for _ in range(5):
            result = self._run()
        return {"outputs": result.numpy().tolist()}

    def _run(self):
        with self.torch.inference_mode():
            return self.call(self.x)

    def time(self, seconds):
        found, begin = [], time.process_time()
        while time.process_time() - begin < seconds:
            start = time.process_time()
            self._run()
            found.append(time.process_time() - start)
        return {"seconds": found}

    def load(self, folder, name):
        found = []
        for _ in range(7):
            start = time.process_time()
            self.torch.export.load(f"{folder}/{name}.pt2").module()
            found.append(time.process_time() - start)
        return {"seconds": found}


if __name__ == "__main__":
    serve(Worker)
