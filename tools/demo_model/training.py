# SPDX-License-Identifier: Apache-2.0
"""Trains one recipe: AdamW, cosine schedule, bf16 autocast, averaged weights, stopping on the validation part."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from demo_model import DemoModelError
from demo_model.network import Network
from demo_model.recipe import Recipe
from demo_model.tokenizer import BOS_ID, EOS_ID, Encoded

EVALUATIONS = 24  # over a whole schedule
TIMED_STEPS = (20, 70)  # between these the speed is measured, to fit the schedule into the time
EVALUATION_COST = 1.15  # of the time that the steps alone take
SCORING_ROWS = 16
CLIP = 1.0
BETAS = (0.9, 0.98)


@dataclass(frozen=True)
class Result:
    recipe: Recipe
    weights: dict[str, Tensor]  # averaged, float32, on the CPU
    validation_bpc: float
    step: int
    steps: int
    seconds: float


class Windows:
    """Draws training windows: every part of the text once an epoch, half of them moved to a paragraph's start.

    Those get BOS before them, so that BOS, alone or before a prompt, stands for "a paragraph starts here".
    """

    def __init__(self, encoded: Encoded, device: torch.device, seed: int):
        self._ids = torch.tensor(encoded.ids, dtype=torch.long)
        self._starts = torch.tensor(encoded.paragraph_starts, dtype=torch.long)
        self._device = device
        self._random = torch.Generator().manual_seed(seed)

    def epoch(self, length: int, rows: int):
        """Yields (inputs, targets), each [rows, length]; the last incomplete batch is left out."""
        last = len(self._ids) - length - 1
        offset = int(torch.randint(length, (1,), generator=self._random))
        places = torch.arange(offset, last, length)
        places = places[torch.randperm(len(places), generator=self._random)]
        opens = torch.rand(len(places), generator=self._random) < 0.5
        nearest = self._starts[torch.searchsorted(self._starts, places).clamp(max=len(self._starts) - 1)]
        opens &= nearest < last
        # A moved window starts one token early; that token is then replaced by BOS.
        places = torch.where(opens, nearest - 1, places)
        windows = self._ids[places[:, None] + torch.arange(length + 1)[None, :]]
        windows[opens, 0] = BOS_ID
        windows = windows.to(self._device)
        for at in range(0, len(windows) - rows + 1, rows):
            yield windows[at:at + rows, :-1], windows[at:at + rows, 1:]


def scoring_windows(encoded: Encoded, context: int) -> list[tuple[Tensor, int]]:
    """Windows of at most context + 1 tokens over each passage, and how many of their first targets are scored already.

    A window overlaps half of the one before, so every token but a passage's first has at least context / 2 before it.
    """
    ids = torch.tensor(encoded.ids, dtype=torch.long)
    begins = (ids == BOS_ID).nonzero().flatten().tolist() + [len(ids)]
    windows = []
    for begin, end in zip(begins, begins[1:]):
        passage = ids[begin:end]
        done = 1  # tokens scored so far; BOS is given
        while done < len(passage):
            start = max(0, done - context // 2)
            window = passage[start:start + context + 1]
            windows.append((window, done - 1 - start))
            done = start + len(window)
    return windows


@torch.no_grad()
def bits(logits_of: Callable[[Tensor], Tensor], encoded: Encoded, context: int, device: torch.device) -> float:
    """Bits to predict every token of the passages but BOS (given) and EOS (no text)."""
    total, scored_tokens = 0.0, 0
    windows = scoring_windows(encoded, context)
    for at in range(0, len(windows), SCORING_ROWS):
        rows = windows[at:at + SCORING_ROWS]
        longest = max(len(window) for window, _ in rows)
        batch = torch.full((len(rows), longest), EOS_ID, dtype=torch.long)  # EOS pads: it is never scored
        keep = torch.zeros((len(rows), longest - 1), dtype=torch.bool)
        for row, (window, scored) in enumerate(rows):
            batch[row, :len(window)] = window
            keep[row, scored:len(window) - 1] = True
        batch, keep = batch.to(device), keep.to(device)
        targets = batch[:, 1:]
        keep &= targets != EOS_ID
        losses = F.cross_entropy(logits_of(batch[:, :-1]).float().flatten(0, 1), targets.flatten(), reduction="none")
        total += float(losses[keep.flatten()].double().sum())
        scored_tokens += int(keep.sum())
    if scored_tokens != sum(1 for token in encoded.ids if token not in (BOS_ID, EOS_ID)):
        raise AssertionError("the scoring windows do not cover each token once")
    return total / math.log(2)


def make_optimizer(network: Network, recipe: Recipe, fused: bool) -> torch.optim.AdamW:
    matrices = [p for p in network.parameters() if p.dim() == 2]
    vectors = [p for p in network.parameters() if p.dim() != 2]
    groups = [{"params": matrices, "weight_decay": recipe.weight_decay}, {"params": vectors, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=recipe.learning_rate, betas=BETAS, fused=fused)


def rate(recipe: Recipe, progress: float) -> float:
    """The learning rate at a share `progress` of the schedule: linear warm-up, then a cosine to 2 % of the peak."""
    if progress < recipe.warm_up:
        return recipe.learning_rate * (progress + 1e-3) / (recipe.warm_up + 1e-3)
    share = (progress - recipe.warm_up) / (1.0 - recipe.warm_up)
    return recipe.learning_rate * (0.02 + 0.98 * 0.5 * (1.0 + math.cos(math.pi * min(share, 1.0))))


class Trainer:
    """One run, bounded by `seconds`: where the machine is too slow for the whole schedule, a shorter one is taken.

    The clock decides nothing else. The seed fixes first weights, batches and dropout, but not the last bits of a run:
    the backward pass of fused attention adds in no fixed order.
    """

    def __init__(self, recipe: Recipe, train: Encoded, validation: Encoded, validation_characters: int,
                 device: torch.device, seconds: float, compiled: bool):
        torch.manual_seed(recipe.seed)
        self._recipe, self._device, self._seconds = recipe, device, seconds
        self._validation, self._characters = validation, validation_characters
        self._network = Network(recipe).to(device)
        self._average = Network(recipe).to(device).eval()
        self._average.load_state_dict(self._network.state_dict())
        self._step_network = torch.compile(self._network) if compiled else self._network
        self._optimizer = make_optimizer(self._network, recipe, fused=device.type == "cuda")
        self._windows = Windows(train, device, recipe.seed)
        self._steps = recipe.epochs * (len(train.ids) // recipe.tokens_per_step)
        if len(train.ids) < 2 * recipe.tokens_per_step:
            raise DemoModelError(f"the corpus has {len(train.ids)} training tokens; bring at least"
                                 f" {2 * recipe.tokens_per_step}, or lower tokens_per_step")
        self._begun = self._timed_from = time.monotonic()
        self._best: tuple[float, int, dict[str, Tensor]] = (math.inf, 0, {})

    def run(self) -> Result:
        step, stale, losses = 0, 0, []
        length = self._recipe.context
        while True:
            for inputs, targets in self._windows.epoch(length, self._recipe.tokens_per_step // length):
                losses.append(self._step(inputs, targets, step))
                step += 1
                self._fit_schedule(step)
                done = step >= self._steps
                if step % max(1, self._steps // EVALUATIONS) and not done:
                    continue
                stale = 0 if self._evaluate(step) else stale + 1
                self._report(step, losses)
                losses = []
                late = time.monotonic() - self._begun > self._seconds
                if done or late or stale >= self._recipe.patience:
                    return self._finish(step, late and not done)

    def _fit_schedule(self, step: int) -> None:
        if step not in TIMED_STEPS:
            return
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)
        now = time.monotonic()
        if step == TIMED_STEPS[0]:
            self._timed_from = now
            return
        per_step = EVALUATION_COST * (now - self._timed_from) / (TIMED_STEPS[1] - TIMED_STEPS[0])
        possible = step + int((self._seconds - (now - self._begun)) / per_step)
        if possible < self._steps:
            print(f"{self._recipe.name}: {self._steps} steps do not fit; taking {possible}", flush=True)
            self._steps = max(possible, step + 1)

    def _step(self, inputs: Tensor, targets: Tensor, step: int) -> Tensor:
        for group in self._optimizer.param_groups:
            group["lr"] = rate(self._recipe, step / self._steps)
        self._network.train()
        with torch.autocast(self._device.type, dtype=torch.bfloat16):
            logits = self._step_network(inputs)
            loss = F.cross_entropy(logits.flatten(0, 1).float(), targets.flatten())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self._network.parameters(), CLIP)
        self._optimizer.step()
        self._optimizer.zero_grad(set_to_none=True)
        decay = min(self._recipe.average, (1 + step) / (10 + step))
        with torch.no_grad():
            torch._foreach_lerp_(list(self._average.parameters()), list(self._network.parameters()), 1.0 - decay)
        return loss.detach()

    def _evaluate(self, step: int) -> bool:
        with torch.autocast(self._device.type, dtype=torch.bfloat16):
            total = bits(self._average, self._validation, self._recipe.context, self._device)
        self._latest = total / self._characters
        if not self._latest < self._best[0]:
            return False
        weights = {k: v.detach().to("cpu", torch.float32, copy=True) for k, v in self._average.state_dict().items()}
        self._best = (self._latest, step, weights)
        return True

    def _report(self, step: int, losses: list[Tensor]) -> None:
        loss = float(torch.stack(losses).mean())
        print(f"{self._recipe.name}: step {step}/{self._steps}  loss {loss:.4f}  validation {self._latest:.4f} bpc"
              f"  best {self._best[0]:.4f} at {self._best[1]}  {time.monotonic() - self._begun:.1f} s", flush=True)

    def _finish(self, step: int, late: bool) -> Result:
        best, best_step, weights = self._best
        if not weights:
            raise DemoModelError(f"{self._recipe.name}: no evaluation gave a number; lower learning_rate")
        if late:
            print(f"{self._recipe.name}: stopped at step {step}, its share of --minutes being over", flush=True)
        return Result(self._recipe, weights, best, best_step, self._steps, time.monotonic() - self._begun)
