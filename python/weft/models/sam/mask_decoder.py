"""The mask decoder: tokens and the image's embedding attend to each other, tokens become masks.

source: Kirillov et al. 2023, Segment Anything; Carion et al. 2020; Cheng et al. 2021 (MaskFormer).
"""

import weft
from weft import nn
from weft.nested import NestedTensor

from .image_encoder import MLP, LayerNorm2d

F = nn.functional


def of_rows(x, rows):
    """x[rows] along its batch, or x where rows is None."""
    return x if rows is None else weft.index_select(x, 0, rows)


class Attention(nn.Module):
    """Attention in `width` channels, of queries, keys and values with `channels`. Query b attends to the keys
    key_rows[b], and is query query_rows[b]: what several share is projected once."""

    def __init__(self, channels, heads, width):
        super().__init__()
        self.heads = heads
        self.q_proj = nn.Linear(channels, width)
        self.k_proj = nn.Linear(channels, width)
        self.v_proj = nn.Linear(channels, width)
        self.out_proj = nn.Linear(width, channels)

    def split(self, x):
        return x.reshape(x.shape[0], x.shape[1], self.heads, -1).transpose(1, 2)  # [B, heads, N, C]

    def forward(self, q, k, v, query_rows=None, key_rows=None):
        q, k, v = of_rows(self.q_proj(q), query_rows), self.k_proj(k), self.v_proj(v)
        q, k, v = self.split(q), self.split(of_rows(k, key_rows)), self.split(of_rows(v, key_rows))
        x = F.scaled_dot_product_attention(q, k, v).transpose(1, 2)
        return self.out_proj(x.reshape(x.shape[0], x.shape[1], -1))


class TwoWayBlock(nn.Module):
    """Tokens attend to each other, then to the image; an MLP on tokens; the image attends to tokens."""

    def __init__(self, config, first):
        super().__init__()
        channels, heads, cross = config.out_channels, config.decoder_heads, config.cross_width
        self.first = first
        self.self_attn = Attention(channels, heads, channels)
        self.norm1 = nn.LayerNorm(channels)
        self.cross_attn_token_to_image = Attention(channels, heads, cross)
        self.norm2 = nn.LayerNorm(channels)
        self.mlp = MLP(channels, config.decoder_hidden, F.relu)
        self.norm3 = nn.LayerNorm(channels)
        self.norm4 = nn.LayerNorm(channels)
        self.cross_attn_image_to_token = Attention(channels, heads, cross)

    def forward(self, tokens, image, prompts, positions, rows=None):
        """tokens and prompts [B, N, C]; image and positions [1 or B, H * W, C], or with rows [B], any number of images, of
        which rows tells each prompt's. The image's result is [B, H * W, C]."""
        if self.first:
            tokens = self.self_attn(tokens, tokens, tokens)
        else:
            q = tokens + prompts
            tokens = tokens + self.self_attn(q, q, tokens)
        tokens = self.norm1(tokens)
        q, k = tokens + prompts, image + positions
        tokens = self.norm2(tokens + self.cross_attn_token_to_image(q, k, image, key_rows=rows))
        tokens = self.norm3(tokens + self.mlp(tokens))
        q = tokens + prompts
        told = self.cross_attn_image_to_token(k, q, tokens, query_rows=rows)
        return tokens, self.norm4(of_rows(image, rows) + told)


class TwoWayTransformer(nn.Module):
    def __init__(self, config):
        super().__init__()
        channels = config.out_channels
        self.layers = nn.ModuleList(TwoWayBlock(config, i == 0) for i in range(config.decoder_depth))
        self.final_attn_token_to_image = Attention(channels, config.decoder_heads, config.cross_width)
        self.norm_final_attn = nn.LayerNorm(channels)

    def forward(self, image, positions, prompts, rows=None):
        tokens = prompts
        for layer in self.layers:
            tokens, image = layer(tokens, image, prompts, positions, rows)
            rows = None  # the image is each prompt's own now
        attended = self.final_attn_token_to_image(tokens + prompts, image + positions, image)
        return self.norm_final_attn(tokens + attended), image


class Layers(nn.Module):
    """Linear layers with ReLU between them."""

    def __init__(self, widths):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(widths, widths[1:]))

    def forward(self, x):
        for layer in self.layers[:-1]:
            x = F.relu(layer(x))
        return self.layers[-1](x)


class MaskDecoder(nn.Module):
    """Embeddings to mask logits [B, masks, 4 * grid, 4 * grid] and predicted IoUs [B, masks]."""

    def __init__(self, config):
        super().__init__()
        channels, masks = config.out_channels, config.mask_tokens
        self.masks = masks
        self.transformer = TwoWayTransformer(config)
        self.iou_token = nn.Embedding(1, channels)
        self.mask_tokens = nn.Embedding(masks, channels)
        self.output_upscaling = nn.Sequential(
            nn.ConvTranspose2d(channels, channels // 4, kernel_size=2, stride=2),
            LayerNorm2d(channels // 4),
            nn.GELU(),
            nn.ConvTranspose2d(channels // 4, channels // 8, kernel_size=2, stride=2),
            nn.GELU(),
        )
        self.output_hypernetworks_mlps = nn.ModuleList(
            Layers([channels, channels, channels, channels // 8]) for _ in range(masks)
        )
        hidden = [config.iou_hidden] * (config.iou_depth - 1)
        self.iou_prediction_head = Layers([channels, *hidden, masks])

    def forward(self, image, positions, sparse, dense, multimask):
        """image and dense [1 or B, C, H, W] (dense: or [1, C, 1, 1]), positions [1, C, H, W], sparse [B, N, C].

        Of images with different numbers of prompts: image [images, C, H, W], sparse nested [images, prompts, N, C], dense
        nested, too, or [1, C, 1, 1]; the results are nested."""
        if isinstance(sparse, NestedTensor):
            rows = sparse._ids()
            if isinstance(dense, NestedTensor):  # images differ by prompt from the start
                image, dense, own_rows = weft.index_select(image, 0, rows), dense.values(), None
            else:
                own_rows = rows
            masks, iou = self.masks_of(image, positions, sparse.values(), dense, multimask, own_rows)
            return sparse._like(masks), sparse._like(iou)
        return self.masks_of(image, positions, sparse, dense, multimask)

    def masks_of(self, image, positions, sparse, dense, multimask, rows=None):
        """forward, of tensors; rows [B]: which of the images is each prompt's."""
        B, (C, H, W) = sparse.shape[0], positions.shape[1:]
        own = weft.cat([self.iou_token.weight, self.mask_tokens.weight])
        tokens = weft.cat([own.expand(B, -1, -1), sparse], 1)
        image = (image + dense).reshape(-1, C, H * W).transpose(1, 2)
        tokens, image = self.transformer(image, positions.reshape(1, C, H * W).transpose(1, 2), tokens, rows)
        image = self.output_upscaling(image.transpose(1, 2).reshape(B, C, H, W))
        chosen = range(1, self.masks) if multimask else range(1)
        weights = weft.stack([self.output_hypernetworks_mlps[i](tokens[:, 1 + i]) for i in chosen], 1)
        masks = weights @ image.reshape(B, image.shape[1], -1)
        iou = self.iou_prediction_head(tokens[:, 0])
        iou = iou[:, 1:] if multimask else iou[:, :1]
        return masks.reshape(B, len(chosen), image.shape[2], image.shape[3]), iou
