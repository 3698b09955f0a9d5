"""A diffusion sampler: a small network removes noise, step by step."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from common import fill, main


def timestep_embedding(timesteps, dim, max_period=10000):
    half = dim // 2
    freqs = torch.exp(-math.log(max_period) * torch.arange(start=0, end=half, dtype=torch.float32) / half)
    args = timesteps[:, None].float() * freqs[None]
    return torch.cat([torch.cos(args), torch.sin(args)], dim=-1)


class ResBlock(nn.Module):
    def __init__(self, channels, emb):
        super().__init__()
        self.in_layers = nn.Sequential(
            nn.GroupNorm(4, channels), nn.SiLU(), nn.Conv2d(channels, channels, 3, padding=1)
        )
        self.emb_layers = nn.Sequential(nn.SiLU(), nn.Linear(emb, 2 * channels))
        self.out_norm = nn.GroupNorm(4, channels)
        self.out_conv = nn.Conv2d(channels, channels, 3, padding=1)

    def forward(self, x, emb):
        h = self.in_layers(x)
        scale, shift = torch.chunk(self.emb_layers(emb)[..., None, None], 2, dim=1)
        h = self.out_norm(h) * (1 + scale) + shift
        return x + self.out_conv(F.silu(h))


class Denoiser(nn.Module):
    def __init__(self, channels=16):
        super().__init__()
        self.channels = channels
        self.time = nn.Sequential(nn.Linear(channels, 32), nn.SiLU(), nn.Linear(32, 32))
        self.conv_in = nn.Conv2d(3, channels, 3, padding=1)
        self.blocks = nn.ModuleList([ResBlock(channels, 32) for _ in range(2)])
        self.conv_out = nn.Conv2d(channels, 3, 3, padding=1)

    def forward(self, x, t):
        emb = self.time(timestep_embedding(t, self.channels))
        h = self.conv_in(x)
        for block in self.blocks:
            h = block(h, emb)
        return self.conv_out(h)


def build():
    return fill(Denoiser()), (torch.ones(2, 3, 16, 16) * 0.5, torch.tensor([5, 5]))


@torch.no_grad()
def sample(model, shape, steps, generator):
    betas = torch.linspace(0.0001, 0.02, steps, dtype=torch.float64)
    alphas_cumprod = torch.cumprod(1.0 - betas, dim=0)
    previous = F.pad(alphas_cumprod[:-1], (1, 0), value=1.0)
    variance = betas * (1.0 - previous) / (1.0 - alphas_cumprod)
    x = torch.randn(shape, generator=generator)
    for i in reversed(range(steps)):
        t = torch.full((shape[0],), i, dtype=torch.long)
        eps = model(x, t)
        a, p = alphas_cumprod[i].float(), previous[i].float()
        x0 = ((x - (1 - a).sqrt() * eps) / a.sqrt()).clamp(-1, 1)
        mean = (p.sqrt() * betas[i].float() * x0 + (1 - betas[i]).sqrt().float() * (1 - p) * x) / (1 - a)
        noise = torch.randn(shape, generator=generator) if i > 0 else torch.zeros(shape)
        x = mean + variance[i].float().sqrt() * noise
    return x


def results(compiled=False):
    model, _ = build()
    if compiled:
        model = torch.compile(model)
    generator = torch.Generator().manual_seed(1234)
    images = sample(model, (2, 3, 16, 16), 10, generator)
    return {"images": images[:, :, ::4, ::4], "next": torch.rand(4, generator=generator)}


if __name__ == "__main__":
    main(results)
