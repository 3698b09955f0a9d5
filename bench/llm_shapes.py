"""Sizes of the language models that peers are measured on, as `weft bench llm --shape` has them."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Shape:
    vocabulary: int
    hidden: int
    intermediate: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    rope_base: float
    tied: bool

    def with_layers(self, layers: int | None) -> Shape:
        return replace(self, layers=layers) if layers else self

    def matrices(self) -> dict[str, tuple[int, int]]:
        """Rows and columns of the matrices of one layer, by name."""
        queries, keys = self.heads * self.head_dim, self.kv_heads * self.head_dim
        return {
            "q": (queries, self.hidden),
            "k": (keys, self.hidden),
            "v": (keys, self.hidden),
            "o": (self.hidden, queries),
            "gate": (self.intermediate, self.hidden),
            "up": (self.intermediate, self.hidden),
            "down": (self.hidden, self.intermediate),
        }

    def weights_per_token(self) -> int:
        """How many weights a step multiplies with: those of all layers and of the output."""
        layer = sum(rows * columns for rows, columns in self.matrices().values())
        return self.layers * layer + self.vocabulary * self.hidden


SHAPES = {
    "llama-1b": Shape(128256, 2048, 8192, 16, 32, 8, 64, 5e5, True),
    "llama-7b": Shape(32000, 4096, 11008, 32, 32, 32, 128, 1e4, False),
    "tiny": Shape(512, 64, 128, 2, 4, 2, 16, 1e4, True),
}
