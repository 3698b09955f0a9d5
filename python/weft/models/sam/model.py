"""Segment Anything: an image encoder, a prompt encoder and a mask decoder."""

import json
import os
import pathlib

import weft
from weft import nn

from .config import SamConfig, config_of
from .image_encoder import ImageEncoder
from .mask_decoder import MaskDecoder
from .prompt_encoder import PromptEncoder
from .tiny_vit import TinyViT

MEAN, DEVIATION = (123.675, 116.28, 103.53), (58.395, 57.12, 57.375)


class Sam(nn.Module):
    """Segment Anything (Kirillov et al. 2023), ViT-B, L or H, or MobileSAM (Zhang et al. 2023).

        sam = weft.models.Sam.from_checkpoint("sam_vit_b_01ec64.pth")

    Names of weights are the original's. Images and prompts in pixels: `SamPredictor`; all that is in an image:
    `SamAutomaticMaskGenerator`.
    """

    mask_threshold = 0.0

    def __init__(self, config=None):
        super().__init__()
        self.config = config = config or SamConfig.vit_b()
        self.image_encoder = TinyViT(config) if config.tiny else ImageEncoder(config)
        self.prompt_encoder = PromptEncoder(config)
        self.mask_decoder = MaskDecoder(config)
        for name, values in (("pixel_mean", MEAN), ("pixel_std", DEVIATION)):
            self.register_buffer(name, weft.tensor(values).reshape(3, 1, 1), persistent=False)
        self.eval()

    @classmethod
    def from_checkpoint(cls, path, *, dtype=None, decoder_heads=None, image_size=None):
        """The model of a state dict in a file: sam_vit_b_01ec64.pth, mobile_sam.pt and their like, as they are.

        Its sizes follow from the shapes. dtype: of weights and arithmetic (default float32). decoder_heads, and of MobileSAM
        image_size: 8 and 1024 by default, or what a config.json beside the file says. OSError, RuntimeError or ValueError that names the file and the weight.
        """
        path = os.fspath(path)
        weights = weft.load(path)
        if not isinstance(weights, dict) or not weights:
            raise ValueError(f"'{path}': expected a state dict, got {type(weights).__name__}")
        weights = {name: x for name, x in weights.items() if isinstance(x, weft.Tensor)}
        config = config_of(
            {name: x.shape for name, x in weights.items()},
            path,
            decoder_heads or _beside(path, "decoder_heads", 8),
            image_size or _beside(path, "image_size", 1024),
        )
        with weft.device("meta"):
            model = cls(config)
        model._weft_hold_weights(weights, path, dtype or weft.float32)
        return model

    def _weft_hold_weights(self, weights, path, dtype):
        own = self.state_dict()
        for problem, names in (
            ("misses", own.keys() - weights.keys()),
            ("has no use for", weights.keys() - own.keys()),
        ):
            if names:
                some = ", ".join(repr(name) for name in sorted(names)[:5])
                raise ValueError(
                    f"'{path}': the model {problem} {len(names)} weights: {some}{', ...' * (len(names) > 5)}"
                )
        for name, x in weights.items():
            if x.shape != own[name].shape:
                raise ValueError(
                    f"'{path}': '{name}' has shape {list(x.shape)}, expected {list(own[name].shape)}"
                )
            if not own[name].is_floating_point():
                continue  # batch normalization counts batches
            if not x.is_floating_point() or not bool(weft.isfinite(x).all()):
                raise ValueError(f"'{path}': '{name}' holds what is no number: {x.dtype}, NaN or infinite")
        held = {name: x.to(dtype) if x.is_floating_point() else x for name, x in weights.items()}
        self.load_state_dict(held, assign=True)
        for name, values in (("pixel_mean", MEAN), ("pixel_std", DEVIATION)):
            self.register_buffer(name, weft.tensor(values).reshape(3, 1, 1), persistent=False)

    def preprocess(self, x):
        """Pixels [..., 3, H, W], 0 to 255, longest side image_size: normalized, zeros right and below."""
        x = (x.to(weft.float32) - self.pixel_mean) / self.pixel_std
        size = self.config.image_size
        return nn.functional.pad(x, (0, size - x.shape[-1], 0, size - x.shape[-2]))

    def encode(self, x):
        """preprocess's result [B, 3, S, S] to embeddings [B, C, grid, grid]."""
        return self.image_encoder(x.to(self.image_encoder.neck[0].weight.dtype))

    def decode(self, embedding, points=None, labels=None, boxes=None, masks=None, multimask=True):
        """Logits [B, masks, 4 * grid, 4 * grid] and predicted IoUs [B, masks], float32, of prompts in pixels of the
        model's image, for one embedding or one per prompt; for images with different numbers of prompts, of nested ones:
        nested [images, prompts, masks, ...]. See PromptEncoder."""
        sparse, dense = self.prompt_encoder(points, labels, boxes, masks)
        positions = self.prompt_encoder.dense_pe()
        dtype = self.dtype
        logits, iou = self.mask_decoder(
            embedding.to(dtype), positions.to(dtype), sparse.to(dtype), dense.to(dtype), multimask
        )
        return logits.to(weft.float32), iou.to(weft.float32)

    @property
    def dtype(self):
        """Of prompts and masks; sam.image_encoder.to(weft.bfloat16) leaves it as it is."""
        return self.prompt_encoder.no_mask_embed.weight.dtype

    @property
    def device(self):
        return self.prompt_encoder.no_mask_embed.weight.device


def _beside(path, name, default):
    """The number of that name in a config.json in the file's folder, or the default."""
    file = pathlib.Path(path).parent / "config.json"
    try:
        number = json.loads(file.read_text()).get(name, default)
    except (OSError, ValueError, AttributeError):
        return default
    return number if isinstance(number, int) and number > 0 else default
