"""The prompt encoder: points, boxes and masks as embeddings.

source: Kirillov et al. 2023, Segment Anything; Tancik et al. 2020 (random Fourier features).
"""

import math

import weft
from weft import nn
from weft.nested import NestedTensor, _operators

from .image_encoder import LayerNorm2d


class PositionalEncoding(nn.Module):
    """Random Fourier features of positions in [0, 1]."""

    def __init__(self, features):
        super().__init__()
        self.register_buffer("positional_encoding_gaussian_matrix", weft.zeros(2, features))

    def encode(self, positions):
        """float32 [..., 2] (x, y) to [..., 2 * features]."""
        matrix = self.positional_encoding_gaussian_matrix.to(weft.float32)
        angles = (2 * positions - 1) @ matrix * (2 * math.pi)
        return weft.cat([weft.sin(angles), weft.cos(angles)], -1)

    def forward(self, size):
        """[2 * features, size, size]: of the centers of a grid's cells."""
        device = self.positional_encoding_gaussian_matrix.device
        at = (weft.arange(size, dtype=weft.float32, device=device) + 0.5) / size
        y, x = at[:, None].expand(size, size), at[None, :].expand(size, size)
        return self.encode(weft.stack([x, y], -1)).permute(2, 0, 1)


class PromptEncoder(nn.Module):
    """Prompts to sparse embeddings [B, prompts, C] and dense ones [B, C, grid, grid], or [1, C, 1, 1] without masks."""

    def __init__(self, config):
        super().__init__()
        channels, hidden = config.out_channels, config.mask_channels
        self.channels, self.grid, self.image_size = channels, config.grid, config.image_size
        self.pe_layer = PositionalEncoding(channels // 2)
        self.point_embeddings = nn.ModuleList(nn.Embedding(1, channels) for _ in range(4))
        self.not_a_point_embed = nn.Embedding(1, channels)
        self.mask_downscaling = nn.Sequential(
            nn.Conv2d(1, hidden // 4, kernel_size=2, stride=2),
            LayerNorm2d(hidden // 4),
            nn.GELU(),
            nn.Conv2d(hidden // 4, hidden, kernel_size=2, stride=2),
            LayerNorm2d(hidden),
            nn.GELU(),
            nn.Conv2d(hidden, channels, kernel_size=1),
        )
        self.no_mask_embed = nn.Embedding(1, channels)

    def dense_pe(self):
        """[1, C, grid, grid]: the encoding of the image's own positions."""
        return self.pe_layer(self.grid)[None]

    def embed_points(self, points, labels, pad):
        """points [B, N, 2] in pixels of the model's image, labels [B, N]: 1 foreground, 0 background, -1 none."""
        points = points + 0.5
        if pad:  # where there is no box, a point that is none
            points = weft.cat([points, weft.zeros(points.shape[0], 1, 2, device=points.device)], 1)
            none = -weft.ones(labels.shape[0], 1, dtype=labels.dtype, device=labels.device)
            labels = weft.cat([labels, none], 1)
        encoded = self.pe_layer.encode(points / self.image_size)
        labels = labels[..., None]
        background, foreground = self.point_embeddings[0].weight, self.point_embeddings[1].weight
        kind = weft.where(labels == 1, foreground, background)
        encoded = weft.where((labels == 0) | (labels == 1), encoded + kind, encoded)
        return weft.where(labels == -1, self.not_a_point_embed.weight, encoded)

    def embed_boxes(self, boxes):
        """boxes [B, 4] in pixels of the model's image: two corners each."""
        corners = self.pe_layer.encode((boxes.reshape(-1, 2, 2) + 0.5) / self.image_size)
        return corners + weft.cat([self.point_embeddings[2].weight, self.point_embeddings[3].weight])

    def forward(self, points, labels, boxes, masks):
        """Each None, or of one batch: [B, N, 2] with [B, N], [B, 4], [B, 1, 4 * grid, 4 * grid].

        Of images with different numbers of prompts: each nested over the same offsets, [images, prompts, N, 2] and so on;
        the results are nested, too, but dense ones without masks."""
        nested = [x for x in (points, labels, boxes, masks) if isinstance(x, NestedTensor)]
        if not nested:
            return self.embed(points, labels, boxes, masks)
        given = [
            None if x is None else self._weft_beside(nested[0], x) for x in (points, labels, boxes, masks)
        ]
        sparse, dense = self.embed(*given)
        return nested[0]._like(sparse), dense if masks is None else nested[0]._like(dense)

    def _weft_beside(self, nested, x):
        if not isinstance(x, NestedTensor):
            raise TypeError("prompts of several images: nested tensors, all of them or none")
        _operators._same_offsets("prompts of several images", nested, x)
        return x.values()

    def embed(self, points, labels, boxes, masks):
        given = [x for x in (points, boxes, masks) if x is not None]
        batch = given[0].shape[0] if given else 1
        sparse = [weft.zeros(batch, 0, self.channels, device=self.no_mask_embed.weight.device)]
        if points is not None:
            sparse.append(self.embed_points(points, labels, pad=boxes is None))
        if boxes is not None:
            sparse.append(self.embed_boxes(boxes))
        if masks is not None:
            dense = self.mask_downscaling(masks.to(self.no_mask_embed.weight.dtype))
        else:
            dense = self.no_mask_embed.weight.reshape(
                1, -1, 1, 1
            )  # what it is for all prompts is computed once
        return weft.cat(sparse, 1), dense
