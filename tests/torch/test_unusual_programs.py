"""Programs that PyTorch exports (unusual_programs.py), where it is installed: guards, sizes 0 and 1, autocast's dtypes."""

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
import weft.torch as torch
from test_export import torch_python
from weft.torch.export import load


def leaves(value):
    return [leaf for leaf in torch.utils._pytree.tree_leaves(value) if isinstance(leaf, torch.Tensor)]


@pytest.mark.long
def test_as_pytorch_runs_them(tmp_path):
    python = torch_python()
    if python is None:
        pytest.skip("no Python with PyTorch 2.15: WEFT_TORCH_PYTHON, or `make test-torch`")
    command = [python, str(Path(__file__).with_name("unusual_programs.py")), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    for name, said in json.loads(done.stdout.splitlines()[-1]).items():
        arrays = dict(np.load(tmp_path / f"{name}.npz"))
        module = load(tmp_path / f"{name}.pt2").module()

        def arguments(number, arrays=arrays):
            found = [each for each in arrays if each.startswith(f"in{number}_")]
            return [torch.from_numpy(arrays[each].copy()) for each in found]

        runs = [module, module, module.optimize_for_inference()]
        if said["decomposed"]:
            runs.append(load(tmp_path / f"{name}.pt2").run_decompositions().module())
        for run in runs:
            for number, dtypes in enumerate(said["dtypes"]):
                results = leaves(run(*arguments(number)))
                assert [str(leaf.dtype).replace("weft", "torch") for leaf in results] == dtypes, name
                for at, leaf in enumerate(results):
                    near = 2e-2 if "bfloat16" in dtypes[at] else 1e-5 if "autocast" not in name else 2e-3
                    expected = arrays[f"{number}_{at}"]
                    np.testing.assert_allclose(
                        leaf.float().numpy(), expected, near, near, err_msg=f"{name}: {number}, {at}"
                    )
        for number in range(said["calls"], said["calls"] + said["refused"]):
            with pytest.raises(ValueError, match="Expected input"):
                module(*arguments(number))
