# SPDX-License-Identifier: Apache-2.0
"""What one training run is made of: shape, regularisation, schedule. Standard library alone."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from demo_model import DemoModelError

HEAD_DIM = 64


@dataclass(frozen=True)
class Recipe:
    name: str
    vocabulary: int = 4096
    hidden: int = 256
    layers: int = 8
    kv_heads: int = 2
    intermediate: int = 768
    context: int = 1024
    dropout: float = 0.2
    weight_decay: float = 1.5  # strong, because the text is read dozens of times
    learning_rate: float = 2e-3
    epochs: int = 30
    tokens_per_step: int = 16384
    warm_up: float = 0.04  # share of the schedule
    average: float = 0.998  # decay of the moving average of the weights, which is what is kept
    patience: int = 12  # evaluations without a better one before stopping
    seed: int = 20261201

    @property
    def heads(self) -> int:
        return self.hidden // HEAD_DIM

    @property
    def parameters(self) -> int:
        attention = self.hidden * HEAD_DIM * (2 * self.heads + 2 * self.kv_heads)
        layer = attention + 3 * self.hidden * self.intermediate + 2 * self.hidden
        return self.vocabulary * self.hidden + self.layers * layer + self.hidden

    def check(self) -> None:
        """Raises DemoModelError, naming the field, for what the demo model may not be."""
        if self.hidden % 128 or self.hidden <= 0:
            raise DemoModelError(f"hidden = {self.hidden}: give a multiple of 128")
        if self.heads % self.kv_heads or self.kv_heads >= self.heads:
            raise DemoModelError(f"kv_heads = {self.kv_heads}: give a proper divisor of the {self.heads} heads")
        if not 2048 <= self.vocabulary <= 4096:
            raise DemoModelError(f"vocabulary = {self.vocabulary}: give 2048 to 4096")
        if self.context < 512 or self.tokens_per_step % self.context:
            raise DemoModelError(f"context = {self.context}: give at least 512 and a divisor of {self.tokens_per_step}")
        if not 3_000_000 <= self.parameters <= 8_000_000:
            raise DemoModelError(f"{self.name} has {self.parameters} parameters: make it 3 to 8 million")


DEFAULT_RECIPE = "deep"
RECIPES = {r.name: r for r in (
    Recipe("deep"),
    Recipe("deep-decay", weight_decay=3.0),
    Recipe("wide", hidden=384, layers=4, intermediate=1024, vocabulary=3072, weight_decay=2.0),
)}


def override(recipe: Recipe, settings: list[str]) -> Recipe:
    """Applies settings written as field=value. Raises DemoModelError for an unknown field or a bad value."""
    kinds = {f.name: type(getattr(recipe, f.name)) for f in dataclasses.fields(recipe) if f.name != "name"}
    changes = {}
    for setting in settings:
        field, _, value = setting.partition("=")
        if field not in kinds:
            raise DemoModelError(f"--set {setting}: unknown field; there are {', '.join(kinds)}")
        try:
            changes[field] = kinds[field](value)
        except ValueError:
            raise DemoModelError(f"--set {setting}: {field} takes a number like {getattr(recipe, field)}") from None
    return dataclasses.replace(recipe, **changes)
