"""What test_gpu.py runs over a folder of WEFT_DUMP: kernels as PTX, and as machine code where ptxas is installed."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import weft


def assembled(folder, golden="", compiler="clang"):
    """Every kernel in a folder of WEFT_DUMP as PTX for sm_80 or sm_90, by turns, and by ptxas where it is installed: none spills.
    With `golden` for both, and registers and shared memory are what the file says, if it was written for this version of
    ptxas. By NVRTC one of each name, which says the dtypes and the kind."""
    sources = {}
    for path in sorted(Path(folder).glob("*.cc")):
        text = path.read_text()
        if "__global__" in text:
            sources.setdefault(
                text.split("#define convert number_as", 1)[1], (path.stem.split("_", 1)[1], text)
            )
    assert sources
    ptxas = shutil.which("ptxas")

    def gpus(text):
        return (90,) if "#define WEFT_SM_90A" in text else (80, 90)

    if golden:
        chosen = [(name, text, capability) for name, text in sources.values() for capability in gpus(text)]
    else:
        texts = dict(sources.values()).items() if compiler == "nvrtc" else sources.values()
        chosen = [(name, text, gpus(text)[k % len(gpus(text))]) for k, (name, text) in enumerate(texts)]

    def table_of(name, text, capability):
        ptx = weft._C._gpu.ptx(name, text, capability, compiler)
        gpu = f"sm_{capability}" + ("a" if "#define WEFT_SM_90A" in text else "")
        assert re.search(rf"\.target {gpu}\b", ptx) and ".entry" in ptx
        # Products and sums are rounded one by one, and nothing is flushed to zero.
        assert not re.search(r"\b(mul|add|sub)\.f(32|64)\b|\.ftz|\.approx", ptx), name
        if name.startswith("warpgroups_product"):
            assert "wgmma.mma_async" in ptx and "cp.async.cg" in ptx
        elif "product" in name and "Along" in text.rpartition("__global__")[2]:
            assert re.search(r"ld\.global\S*\.(v4\.[a-z]32|v2\.[a-z]64)", ptx), name  # 16 bytes at a time
        return [(gpu, *row) for row in machine_code(ptxas, ptx, gpu)] if ptxas else []

    with ThreadPoolExecutor(os.cpu_count()) as threads:
        table = [row for rows in threads.map(lambda one: table_of(*one), chosen) for row in rows]
    lines = sorted(
        f"{gpu} {entry:56} {registers:4} registers {spills:4} bytes spilled {shared:6} shared"
        for gpu, entry, registers, spills, shared in table
    )
    print("\n".join(lines))
    print(f"{len(chosen)} texts, {len(table)} kernels assembled" + ("" if ptxas else "; there is no ptxas"))
    assert all(row[3] == 0 for row in table), "a kernel spills"
    if not golden or not ptxas:
        return
    said = subprocess.run([ptxas, "--version"], capture_output=True, text=True).stdout
    version = "ptxas " + re.search(r"release [\d.]+, V([\d.]+)", said).group(1)
    text = "\n".join([version, *lines]) + "\n"
    if os.environ.get("GOLDEN_UPDATE"):
        Path(golden).write_text(text)
    want = Path(golden).read_text()
    if want.splitlines()[0] == version:
        assert (
            text == want
        ), f"{golden}: other kernels, registers or shared memory; GOLDEN_UPDATE=1 writes it anew"


def machine_code(ptxas, ptx, gpu):
    """Name, registers, spilled bytes and shared memory of each kernel. Products of warpgroups run beside other instructions."""
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "kernel.ptx"
        file.write_text(ptx)
        command = [ptxas, "-v", f"-arch={gpu}", str(file), "-o", str(file) + ".cubin"]
        done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0 and "Potential Performance Loss" not in done.stderr, done.stderr
    for entry, rest in re.findall(
        r"Compiling entry function '(\w+)'(.*?)(?=Compiling|\Z)", done.stderr, re.S
    ):
        registers = int(re.search(r"Used (\d+) registers", rest).group(1))
        spills = int(re.search(r"(\d+) bytes spill stores", rest).group(1))
        shared = re.search(r"(\d+) bytes smem", rest)
        yield entry, registers, spills, int(shared.group(1)) if shared else 0


if __name__ == "__main__":
    assembled(*sys.argv[1:])
