# SPDX-License-Identifier: Apache-2.0
"""The Llama architecture for training: with dropout, and parameters named as a Hugging Face checkpoint names them."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from demo_model.recipe import HEAD_DIM, Recipe

ROPE_THETA = 10000.0
NORM_EPS = 1e-5
INIT_STD = 0.02


class RmsNorm(nn.Module):
    def __init__(self, hidden: int):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(hidden))

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x.float(), (x.shape[-1],), self.weight, NORM_EPS)


def rope_tables(context: int) -> tuple[Tensor, Tensor]:
    """cos and sin [context, HEAD_DIM]; the two halves of a head are the pairs that turn."""
    frequencies = ROPE_THETA ** (-torch.arange(0, HEAD_DIM, 2, dtype=torch.float64) / HEAD_DIM)
    angles = torch.outer(torch.arange(context, dtype=torch.float64), frequencies)
    angles = torch.cat((angles, angles), dim=-1)
    return angles.cos().float(), angles.sin().float()


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-second, first), dim=-1) * sin


class Attention(nn.Module):
    def __init__(self, recipe: Recipe):
        super().__init__()
        self.heads, self.kv_heads, self.dropout = recipe.heads, recipe.kv_heads, recipe.dropout
        self.q_proj = nn.Linear(recipe.hidden, self.heads * HEAD_DIM, bias=False)
        self.k_proj = nn.Linear(recipe.hidden, self.kv_heads * HEAD_DIM, bias=False)
        self.v_proj = nn.Linear(recipe.hidden, self.kv_heads * HEAD_DIM, bias=False)
        self.o_proj = nn.Linear(self.heads * HEAD_DIM, recipe.hidden, bias=False)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        batch, length, _ = x.shape
        q = self.q_proj(x).view(batch, length, self.heads, HEAD_DIM).transpose(1, 2)
        k = self.k_proj(x).view(batch, length, self.kv_heads, HEAD_DIM).transpose(1, 2)
        v = self.v_proj(x).view(batch, length, self.kv_heads, HEAD_DIM).transpose(1, 2)
        q, k = rotate(q, cos, sin).to(v.dtype), rotate(k, cos, sin).to(v.dtype)
        group = self.heads // self.kv_heads
        k, v = k.repeat_interleave(group, dim=1), v.repeat_interleave(group, dim=1)
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=self.dropout if self.training else 0.0)
        return self.o_proj(out.transpose(1, 2).reshape(batch, length, self.heads * HEAD_DIM))


class Mlp(nn.Module):
    def __init__(self, recipe: Recipe):
        super().__init__()
        self.gate_proj = nn.Linear(recipe.hidden, recipe.intermediate, bias=False)
        self.up_proj = nn.Linear(recipe.hidden, recipe.intermediate, bias=False)
        self.down_proj = nn.Linear(recipe.intermediate, recipe.hidden, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Block(nn.Module):
    def __init__(self, recipe: Recipe):
        super().__init__()
        self.input_layernorm = RmsNorm(recipe.hidden)
        self.self_attn = Attention(recipe)
        self.post_attention_layernorm = RmsNorm(recipe.hidden)
        self.mlp = Mlp(recipe)
        self.drop = nn.Dropout(recipe.dropout)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        x = x + self.drop(self.self_attn(self.input_layernorm(x), cos, sin))
        return x + self.drop(self.mlp(self.post_attention_layernorm(x)))


class Backbone(nn.Module):
    def __init__(self, recipe: Recipe):
        super().__init__()
        self.embed_tokens = nn.Embedding(recipe.vocabulary, recipe.hidden)
        self.layers = nn.ModuleList(Block(recipe) for _ in range(recipe.layers))
        self.norm = RmsNorm(recipe.hidden)
        self.drop = nn.Dropout(recipe.dropout)
        cos, sin = rope_tables(recipe.context)
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)

    def forward(self, ids: Tensor) -> Tensor:
        cos, sin = self.cos[:ids.shape[1]], self.sin[:ids.shape[1]]
        x = self.drop(self.embed_tokens(ids))
        for layer in self.layers:
            x = layer(x, cos, sin)
        return self.norm(x)


class Network(nn.Module):
    """Token ids [batch, length] to logits [batch, length, vocabulary]; output and input embedding are one matrix."""

    def __init__(self, recipe: Recipe):
        super().__init__()
        self.model = Backbone(recipe)
        residual_std = INIT_STD / math.sqrt(2 * recipe.layers)
        for name, parameter in self.named_parameters():
            if parameter.dim() == 2:
                narrow = name.endswith(("o_proj.weight", "down_proj.weight"))
                nn.init.normal_(parameter, std=residual_std if narrow else INIT_STD)

    def forward(self, ids: Tensor) -> Tensor:
        return F.linear(self.model(ids), self.model.embed_tokens.weight)
