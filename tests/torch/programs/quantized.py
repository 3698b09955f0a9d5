"""Weight-only int8 and int4 linear layers, packed as PyTorch packs them."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from common import fill, main, wave


def dynamically_quantize_per_channel(x, quant_min, quant_max, target_dtype):
    eps = torch.finfo(torch.float32).eps
    min_val, max_val = torch.aminmax(x, dim=1)
    min_val_neg = torch.min(min_val, torch.zeros_like(min_val))
    max_val_pos = torch.max(max_val, torch.zeros_like(max_val))
    max_val_pos = torch.max(-min_val_neg, max_val_pos)
    scales = torch.clamp(max_val_pos / (float(quant_max - quant_min) / 2), min=eps).to(x.dtype)
    zero_points = torch.zeros(min_val_neg.size(), dtype=torch.int64, device=x.device)
    x_zp = torch.round(x / scales.unsqueeze(-1)) + zero_points.unsqueeze(-1)
    return torch.clamp(x_zp, quant_min, quant_max).to(target_dtype), scales, zero_points


class WeightOnlyInt8Linear(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.register_buffer("weight", torch.empty((out_features, in_features), dtype=torch.int8))
        self.register_buffer("scales", torch.ones(out_features, dtype=torch.bfloat16))

    def forward(self, input):
        return F.linear(input, self.weight.to(dtype=input.dtype)) * self.scales


def group_quantize(w, n_bit=4, groupsize=32):
    to_quant = w.reshape(-1, groupsize)
    max_val, min_val = to_quant.amax(dim=1, keepdim=True), to_quant.amin(dim=1, keepdim=True)
    max_int = 2**n_bit - 1
    scales = (max_val - min_val).clamp(min=1e-6) / max_int
    zeros = min_val + scales * (2 ** (n_bit - 1))
    q = to_quant.sub(min_val).div(scales).round().clamp_(0, max_int).to(torch.int32).reshape_as(w)
    scales_and_zeros = torch.cat([scales.reshape(w.size(0), -1, 1), zeros.reshape(w.size(0), -1, 1)], 2)
    return q, scales_and_zeros.transpose(0, 1).contiguous().to(torch.bfloat16)


class WeightOnlyInt4Linear(nn.Module):
    def __init__(self, in_features, out_features, groupsize=32):
        super().__init__()
        self.in_features, self.out_features, self.groupsize = in_features, out_features, groupsize
        self.register_buffer("weight", torch.zeros((out_features, in_features // 2), dtype=torch.uint8))
        self.register_buffer(
            "scales_and_zeros", torch.empty((in_features // groupsize, out_features, 2), dtype=torch.bfloat16)
        )

    def forward(self, input):
        shape = input.size()
        c = torch.ops.aten._weight_int4pack_mm_for_cpu(
            input.reshape(-1, shape[-1]), self.weight, self.groupsize, self.scales_and_zeros
        )
        return c.reshape(shape[:-1] + (self.out_features,))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(64, 128, bias=False), nn.Linear(128, 64, bias=False)

    def forward(self, x):
        return self.down(F.silu(self.up(x)))


def replace_linear(module, kind):
    for name, child in module.named_children():
        if isinstance(child, nn.Linear):
            weight = child.weight.detach()
            if kind == "int8":
                new = WeightOnlyInt8Linear(child.in_features, child.out_features)
                q, scales, _ = dynamically_quantize_per_channel(weight.float(), -128, 127, torch.int8)
                new.load_state_dict({"weight": q, "scales": scales.to(torch.bfloat16)})
            else:
                new = WeightOnlyInt4Linear(child.in_features, child.out_features)
                q, scales_and_zeros = group_quantize(weight.float())
                packed = torch.ops.aten._convert_weight_to_int4pack_for_cpu(q, 1)
                new.load_state_dict({"weight": packed, "scales_and_zeros": scales_and_zeros})
            setattr(module, name, new)
        else:
            replace_linear(child, kind)
    return module


def build():
    int8, int4 = (replace_linear(fill(Net()), kind) for kind in ("int8", "int4"))
    return lambda x: (int8(x), int4(x)), (wave(3, 64).to(torch.bfloat16),)


def results(compiled=False):
    found = {}
    x = wave(3, 64).to(torch.bfloat16)
    for kind in ("int8", "int4"):
        model = replace_linear(fill(Net()), kind)
        run = torch.compile(model, fullgraph=True) if compiled else model
        with torch.no_grad():
            found[kind] = run(x).float()
        if kind == "int8":
            found["int8_weight"] = model.up.weight.flatten()[:64].float()
    return found


if __name__ == "__main__":
    main(results)
