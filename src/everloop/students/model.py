"""The small student's network: a pre-norm causal transformer, 2 layers, width 64, 4 heads, about 103,000 weights."""

from __future__ import annotations

import math

from torch import Tensor, nn
from torch.nn import functional

from everloop.students.codec import CHARACTERS, LENGTH

WIDTH, LAYERS, HEADS = 64, 2, 4


class Block(nn.Module):
    """Attention and a feed-forward layer, each behind a layer norm and beside a residual path."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        """(batch, time, width) to the same shape."""
        batch, time, width = x.shape
        parts = self.qkv(self.norm1(x)).view(batch, time, 3, self.heads, width // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        seen = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.out(seen.transpose(1, 2).reshape(batch, time, width))
        inner: Tensor = self.down(functional.gelu(self.up(self.norm2(x))))
        return x + inner


class Transformer(nn.Module):
    """Token ids (batch, time) to logits (batch, time, alphabet)."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(len(CHARACTERS), WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.ModuleList(Block(WIDTH, HEADS) for _ in range(LAYERS))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, len(CHARACTERS), bias=False)
        self._initialise()

    def forward(self, ids: Tensor) -> Tensor:
        """Logits of the next token at each place."""
        x = self.tokens(ids) + self.places.weight[: ids.shape[1]]
        for block in self.blocks:
            x = block(x)
        logits: Tensor = self.head(self.norm(x))
        return logits

    def _initialise(self) -> None:
        """Normal weights, scaled by fan-in; layers that end a residual path start smaller (GPT-2's rule)."""
        for name, weight in self.named_parameters():
            if weight.dim() > 1:
                embedding = name.startswith(("tokens", "places"))
                nn.init.normal_(weight, std=0.02 if embedding else 1 / math.sqrt(weight.shape[1]))
            if name.endswith(("out.weight", "down.weight")):
                weight.data.mul_(1 / math.sqrt(2 * LAYERS))
