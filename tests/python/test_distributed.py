"""Process groups and models over several ranks, which mpirun starts on this machine."""

import functools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

import pytest
import weft
from support.emulated import EMULATED
from support.tiers import long_but
from test_family_checkpoints import FAMILIES, write_checkpoint
from weft import distributed

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SHARED = pathlib.Path(os.environ.get("WEFT_SHARED_DATA", ROOT / ".." / "shared" / "data"))
STORIES = str(SHARED / "stories260k")


# As many processes as there are ranks, on however few cores, which they leave to each other.
LAUNCHER = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "OMP_NUM_THREADS": "1",
}


@functools.cache
def why_not():
    if shutil.which("mpirun") is None:
        return "no mpirun (Debian: openmpi-bin)"
    started = subprocess.run(
        ["mpirun", "-n", "2", "true"], capture_output=True, text=True, timeout=300, env=os.environ | LAUNCHER
    )
    if started.returncode != 0:
        return f"mpirun starts no processes here: {started.stderr.strip()[:200]}"
    for line in pathlib.Path("/proc/self/maps").read_text().splitlines():
        if "/libweft.so" in line:
            library = pathlib.Path(line.split(maxsplit=5)[5]).parent / "libweft_mpi.so"
            return "" if library.exists() else "weft was built without MPI"
    return "no libweft.so in this process"


needs_mpi = pytest.mark.skipif(why_not() != "", reason=why_not() or "none")
needs_stories = pytest.mark.skipif(
    not pathlib.Path(STORIES).is_dir(), reason="no shared data (WEFT_SHARED_DATA)"
)


# The command finds its Python there.
PATH = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])


def mpirun(ranks, *command, status=0, environment=None, **options):
    environment = os.environ | LAUNCHER | {"PATH": PATH} | (environment or {})
    done = subprocess.run(
        ["mpirun", "-n", str(ranks), sys.executable, *command],
        capture_output=True,
        text=True,
        timeout=300,
        env=environment,
        **options,
    )
    if status == 0:
        assert done.returncode == 0, done.stdout + done.stderr
    else:
        assert done.returncode != 0, done.stdout + done.stderr
    return done


def program(ranks, *arguments, status=0, environment=None):
    done = mpirun(
        ranks, str(HERE / "distributed_programs.py"), *arguments, status=status, environment=environment
    )
    if status == 0:
        for rank in range(ranks):
            assert f"rank {rank} is done" in done.stdout
    return done


def command(ranks, *arguments, status=0, **options):
    return mpirun(ranks, "-m", "weft", *arguments, status=status, **options)


# ---- one process ------------------------------------------------------------------------------------------
def test_wrong_backends():
    with pytest.raises(
        ValueError, match="unknown backend 'nccI'; they are mpi and nccl; did you mean 'nccl'"
    ):
        distributed.init_process_group("nccI")
    with pytest.raises(TypeError, match="backend must be 'mpi' or 'nccl', got int"):
        distributed.init_process_group(3)
    for timeout in (0, -1.0, float("nan")):
        with pytest.raises(ValueError, match="timeout must be above 0 seconds"):
            distributed.init_process_group("mpi", timeout=timeout)
    with pytest.raises(RuntimeError, match="backend 'nccl': .*; backend 'mpi' works on CPUs"):
        distributed.init_process_group("nccl")
    assert not distributed.is_initialized()


@pytest.mark.parametrize(
    "call",
    [
        lambda: distributed.get_rank(),
        lambda: distributed.get_world_size(),
        lambda: distributed.get_backend(),
        lambda: distributed.barrier(),
        lambda: distributed.all_reduce(weft.ones(2)),
        lambda: distributed.functional.all_gather(weft.ones(2)),
        lambda: distributed.functional.reduce_scatter(weft.ones(2)),
        lambda: distributed.broadcast(weft.ones(2)),
        lambda: distributed.destroy_process_group(),
        lambda: distributed.statistics(),
    ],
)
def test_without_a_group(call):
    with pytest.raises(RuntimeError, match="there is no process group; call init_process_group first"):
        call()


def test_models_without_a_group():
    model = object()
    assert distributed.tensor_parallel.apply(model) is model
    with pytest.raises(RuntimeError, match="there is no process group"):
        weft.models.Llama.random("tiny", tensor_parallel=True)


def test_numbers_of_threads():
    """Ranks of one machine share its cores, whatever each of them sees."""
    code = "import weft; print(weft.get_num_threads(), weft.distributed.launched())"

    def threads(**variables):
        environment = {k: v for k, v in os.environ.items() if k not in ("OMP_NUM_THREADS", "MKL_NUM_THREADS")}
        done = subprocess.run(
            [sys.executable, "-c", code],
            env=environment | variables,
            capture_output=True,
            text=True,
            check=True,
        )
        count, launched = done.stdout.split(maxsplit=1)
        return int(count), launched.strip()

    alone, launched = threads()
    assert launched == "None"
    open_mpi = {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_LOCAL_RANK": "1"}
    assert threads(**open_mpi, OMPI_COMM_WORLD_LOCAL_SIZE="1") == (alone, "(1, 4, 1, 1)")
    assert threads(**open_mpi, OMPI_COMM_WORLD_LOCAL_SIZE="1000") == (1, "(1, 4, 1, 1000)")
    assert threads(PMI_RANK="2", PMI_SIZE="3", MPI_LOCALNRANKS="3")[1] == "(2, 3, 0, 3)"
    for wrong in ("x", "-1", "9", ""):
        assert threads(**open_mpi | {"OMPI_COMM_WORLD_RANK": wrong}) == (alone, "None")
    assert threads(**open_mpi, OMPI_COMM_WORLD_LOCAL_SIZE="1000", OMP_NUM_THREADS="2")[0] == 2


# ---- collectives ------------------------------------------------------------------------------------------
@needs_mpi
@pytest.mark.parametrize("ranks", long_but([1, 2, 4], 1, 4))
def test_collectives(ranks):
    program(ranks, "collectives")


@pytest.fixture(scope="module")
def fake_nccl(tmp_path_factory):
    """The environment with emulated GPUs, and a library in place of NCCL's that works with them."""
    folder = tmp_path_factory.mktemp("nccl")
    source = HERE / "fake_nccl.cc"
    subprocess.run(
        ["c++", "-shared", "-fPIC", "-std=c++20", str(source), "-o", str(folder / "libnccl.so.2")], check=True
    )
    return {**EMULATED, "LD_LIBRARY_PATH": str(folder)}


@needs_mpi
def test_gpus_of_two_ranks(fake_nccl):
    program(2, "gpus", environment=fake_nccl)


def test_the_gpu_of_one_process(fake_nccl):
    ran = subprocess.run(
        [sys.executable, str(HERE / "distributed_programs.py"), "gpus"],
        capture_output=True, text=True, timeout=300, env=os.environ | fake_nccl,
    )  # fmt: skip
    assert ran.returncode == 0 and "rank 0 is done" in ran.stdout, ran.stderr


@pytest.mark.parametrize(
    "environment, message",
    [
        ({"WEFT_DEVICE_EMULATE": "0"}, "backend 'nccl': .*there is no NVIDIA driver"),
        ({"LD_LIBRARY_PATH": "/nowhere"}, r"NCCL is not installed \(libnccl.so.2|init_process_group: NCCL: "),
    ],
)
def test_what_nccl_needs(fake_nccl, environment, message):
    if environment.get("WEFT_DEVICE_EMULATE") == "0" and weft._C._gpu.why_unavailable() == "":
        pytest.skip("there is a GPU")
    ran = subprocess.run(
        [sys.executable, "-c", "import weft.distributed as d; d.init_process_group('nccl')"],
        capture_output=True, text=True, timeout=300, env=os.environ | fake_nccl | environment,
    )  # fmt: skip
    assert ran.returncode == 1 and re.search(message, ran.stderr), ran.stderr


@needs_mpi
def test_ranks_beyond_the_gpus(fake_nccl):
    ran = program(3, "gpus", environment=fake_nccl, status=1)
    assert "rank 2, the 3. on this machine, has no GPU of its own" in ran.stderr


def test_what_nccl_says_is_told(fake_nccl):
    ran = subprocess.run(
        [sys.executable, str(HERE / "distributed_programs.py"), "nccl_fails"],
        capture_output=True, text=True, timeout=300, env=os.environ | fake_nccl | {"FAKE_NCCL": "error"},
    )  # fmt: skip
    assert "rank 0 is done" in ran.stdout, ran.stderr


@needs_mpi
@pytest.mark.parametrize("ranks", long_but([2, 4], 2))
def test_calls_that_do_not_belong_together(ranks):
    program(ranks, "mismatches")


@needs_mpi
@pytest.mark.parametrize("ranks", long_but([2, 4], 2))
def test_compiled(ranks):
    program(ranks, "compiled")


@needs_mpi
@pytest.mark.parametrize("ranks, programs", long_but([(2, 6), (2, 25), (4, 25)], (2, 6), unpack=True))
def test_collectives_beside_other_work(ranks, programs):
    program(ranks, "overlaps", str(programs))


@needs_mpi
def test_residual_and_norm_behind_a_sum():
    told = program(2, "norm_behind_a_sum", environment={"WEFT_LOGS": "fusion,output_code"}).stderr
    assert re.search(r"call _all_reduce.* is under way during matmul", told), told
    # The ranks' lines are mixed, and each has one kernel.
    kernels = set(re.findall(r"void (\w+)\(", told))
    assert len(kernels) == 1, kernels


@needs_mpi
@pytest.mark.parametrize("name", ["waits", "waits_under_way"])
def test_a_rank_that_does_not_come(name):
    assert "told" in program(3, name, status=1).stdout


@needs_mpi
@pytest.mark.parametrize("name", ["dies", "dies_under_way"])
def test_a_rank_that_dies(name):
    done = program(3, name, status=1)
    assert "rank 1" in done.stderr and "done" not in done.stdout


@needs_mpi
def test_a_rank_that_fails():
    done = program(3, "fails", status=1)
    assert "ValueError: rank 1 has had enough" in done.stderr
    assert "rank 1 of 3" in done.stderr and "ends with an error, and all ranks with it" in done.stderr


IN_A_SHELL = ("sh", "-c", '"$@"; true', "sh")
ENDS = {
    "lingers": ("lingers", ()),
    "lingers in a shell": ("lingers", IN_A_SHELL),
    "computes": ("computes", ()),
    "computes in a shell": ("computes", IN_A_SHELL),
}


@needs_mpi
@pytest.mark.parametrize("case", long_but(ENDS, "lingers in a shell", "computes"))
def test_ranks_end_with_mpirun(case, tmp_path):
    """However it ends, and whether a rank has begun with MPI, uses it, or is done with it."""
    name, wrapper = ENDS[case]
    with open(tmp_path / "out", "w") as out:
        launcher = subprocess.Popen(
            ["mpirun", "-n", "2", *wrapper, sys.executable, str(HERE / "distributed_programs.py"), name],
            stdout=out,
            stderr=subprocess.STDOUT,
            env=os.environ | LAUNCHER | {"PATH": PATH},
        )
    ranks = []
    while len(ranks) < 2:
        assert launcher.poll() is None, (tmp_path / "out").read_text()
        ranks = re.findall(r"\(pid (\d+)\)", (tmp_path / "out").read_text())  # mpirun mixes lines
        time.sleep(0.05)
    launcher.kill()
    launcher.wait()

    def lives(rank):
        try:
            state = pathlib.Path(f"/proc/{rank}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return False
        return state != "Z"  # where nobody asks for the status of orphans

    while any(map(lives, ranks)):  # the tests' timeouts are the limit
        time.sleep(0.05)


# ---- models -----------------------------------------------------------------------------------------------
@needs_mpi
@needs_stories
@pytest.mark.parametrize(
    ("ranks", "names"),
    long_but(
        [(2, "float32,int8"), (2, "bfloat16,int4-g32"), (4, "float32,bfloat16,int8,int4-g32")],
        (2, "float32,int8"),
        unpack=True,
    ),
)
def test_models(ranks, names):
    program(ranks, "models", STORIES, names)


# Slopes of an odd number of heads on each rank, grouped keys, latent attention, experts.
QUICK_FAMILIES = ("bloom", "falcon_alibi_groups", "deepseek_v2_lite", "phimoe")
# Heads that two ranks do not divide; convolutions and delta rules, which no ranks do.
UNDIVIDED = {"gpt_bigcode", "falcon_alibi_one_key", "lfm2_moe", "qwen3_next", "qwen3_5"}
ALL_FAMILIES = tuple(name for name in FAMILIES if name not in UNDIVIDED)


@needs_mpi
@pytest.mark.parametrize(
    "names", long_but([QUICK_FAMILIES, ALL_FAMILIES], QUICK_FAMILIES), ids=["few", "all"]
)
def test_families(names, tmp_path):
    for name in names:
        write_checkpoint(tmp_path / name, *FAMILIES[name])
    program(2, "families", str(tmp_path), *names)


@needs_mpi
@needs_stories
@pytest.mark.parametrize(
    ("ranks", "scheme"),
    long_but([(2, "none"), (4, "none"), (2, "int8"), (4, "int4-g32")], (2, "none"), (2, "int8"), unpack=True),
)
def test_modules(ranks, scheme):
    program(ranks, "modules", STORIES, scheme)


def text_of(ranks, *arguments):
    arguments = ("generate", *arguments, "-p", "", "-n", "80", "--json")
    if ranks == 1:
        done = subprocess.run(
            [sys.executable, "-m", "weft", *arguments],
            capture_output=True,
            text=True,
            check=True,
            timeout=300,
        )
    else:
        done = command(ranks, *arguments)
    return json.loads(done.stdout)


SCHEMES = (
    ("--dtype", "float32"),
    ("--dtype", "bfloat16"),
    ("--quantize", "int8"),
    ("--quantize", "int4-g32"),
)


@needs_mpi
@needs_stories
@pytest.mark.parametrize("ranks", long_but([2, 4], 2))
@pytest.mark.parametrize("options", long_but(SCHEMES, SCHEMES[0]), ids=lambda options: options[1])
def test_generate(options, ranks):
    alone = text_of(1, "-m", STORIES, *options)
    shared = text_of(ranks, "-m", STORIES, *options)
    assert shared["text"] == alone["text"]
    assert len(shared["ranks"]) == ranks
    bytes_of_all = sum(rank["weight_bytes_per_token"] for rank in shared["ranks"])
    assert bytes_of_all >= alone["weight_bytes_per_token"]
    for rank in shared["ranks"]:
        assert rank["weight_bytes_per_token"] < 0.7 * alone["weight_bytes_per_token"]
        # Two sums per layer, the logits, and whether Ctrl-C was pressed.
        assert rank["collective_calls"] >= 80 * (2 * 5 + 1) and rank["collective_seconds"] > 0
    expected = json.loads((pathlib.Path(STORIES) / "expected.json").read_text())
    if options[1] == "float32":
        assert alone["generated_tokens"] == 80 and expected["greedy_text"].startswith(alone["text"])


@needs_mpi
@needs_stories
@pytest.mark.parametrize("scheme", long_but(["int8", "int4-g32", "int4-g64"]))
def test_quantized_folders(scheme, tmp_path):
    folder = str(tmp_path / scheme)
    subprocess.run(
        [sys.executable, "-m", "weft", "quantize", STORIES, folder, "--scheme", scheme], check=True
    )
    alone = text_of(1, "-m", folder)["text"]
    assert text_of(2, "-m", folder)["text"] == alone
    if scheme != "int4-g64":
        assert text_of(4, "-m", folder)["text"] == alone


@needs_mpi
@needs_stories
def test_sizes_that_do_not_divide():
    done = command(3, "generate", "-m", STORIES, "-p", "", status=1)
    assert "3 ranks do not divide the model's 8 heads and 4 key-value heads" in done.stderr
    assert "rank 0 of 3" in done.stderr and done.stdout == ""
    # int4-g64: 3 groups in the layer between.
    done = command(4, "generate", "-m", STORIES, "-p", "", "--quantize", "int4-g64", status=1)
    assert "intermediate_size 172 makes 3 parts of 64 columns, too few for 4 ranks" in done.stderr
    done = command(2, "generate", "-m", STORIES, "-p", "", "--tensor-parallel", "4", status=1)
    assert "--tensor-parallel 4 needs as many processes, and there are 2" in done.stderr


@needs_mpi
@needs_stories
def test_command():
    done = command(2, "generate", "-m", STORIES, "-n", "12", "-p", "Once upon")
    assert (
        done.stdout.startswith("Once upon a time, there was a little girl named")
        and done.stdout.count("Once") == 1
    )
    assert done.stderr.count("decode   11 tokens") == 1
    for rank in range(2):
        assert done.stderr.count(f"rank {rank}   ") == 1
    assert "in collectives" in done.stderr
    missing = command(2, "generate", "-m", "/no/such/folder", "-p", "", status=1)
    assert "rank 0 of 2" in missing.stderr and "not a folder" in missing.stderr


@pytest.mark.long
@needs_mpi
@needs_stories
def test_what_the_first_rank_reads():
    done = command(2, "generate", "-m", STORIES, "-n", "12", "-p", "Once upon")
    piped = command(2, "generate", "-m", STORIES, "-n", "12", input="Once upon\n")
    assert piped.stdout == done.stdout
    talk = ("generate", "-m", STORIES, "--interactive", "-n", "5")
    alone = subprocess.run(
        [sys.executable, "-m", "weft", *talk],
        input="Hello\nBye\n",
        capture_output=True,
        text=True,
        check=True,
    )
    assert command(2, *talk, input="Hello\nBye\n").stdout == alone.stdout
    # Each for itself.
    twice = command(2, "generate", "-m", STORIES, "-n", "12", "-p", "Once upon", "--tensor-parallel", "1")
    assert sorted(twice.stdout) == sorted(done.stdout * 2)  # their pieces come as they please


@needs_mpi
@pytest.mark.skipif(not (SHARED / "sam_tiny").is_dir(), reason="no shared data (WEFT_SHARED_DATA)")
@pytest.mark.parametrize("ranks", long_but([2, 4], 4))  # of four, one has nothing to do
def test_segment_deals_images(tmp_path, ranks):
    pytest.importorskip("PIL.Image")
    images = [str(SHARED / "images" / f"{name}.jpg") for name in ("dog", "groceries", "truck")]
    options = ("--checkpoint", str(SHARED / "sam_tiny" / "sam_tiny.pth"), "--point", "400,300")
    alone = tmp_path / "alone"
    subprocess.run(
        [sys.executable, "-m", "weft", "segment", *images, *options, "--output", str(alone)],
        check=True,
        timeout=300,
        env=os.environ | {"PATH": PATH},
    )
    names = sorted(path.name for path in alone.iterdir())
    assert len(names) >= 3
    shared = tmp_path / "shared"
    command(ranks, "segment", *images, *options, "--output", str(shared))
    assert sorted(path.name for path in shared.iterdir()) == names
    for name in names:
        if name.endswith(".json"):
            assert (shared / name).read_text() == (alone / name).read_text()


@pytest.mark.long  # alone: test_command_models.py
@needs_mpi
def test_bench():
    done = command(2, "bench", "llm", "--shape", "tiny", "--random-weights", "--schemes", "bfloat16,int8", "--pp", "16",
                   "--tg", "8", "-r", "2", "-o", "json")  # fmt: skip
    tests = json.loads(done.stdout)["tests"]
    assert [test["test"] for test in tests] == ["pp16", "tg8"] * 2
    for test in tests:
        assert len(test["ranks"]) == 2
        for rank in test["ranks"]:
            assert 0 < rank["share_in_collectives"] <= 1 and rank["gb_per_token"] > 0
    table = command(
        2, "bench", "llm", "--shape", "tiny", "--random-weights", "--pp", "16", "--tg", "8", "-r", "1"
    )
    assert "2 ranks of 1 threads" in table.stdout and "| in collectives |" in table.stdout
