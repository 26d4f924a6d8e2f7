# SPDX-License-Identifier: Apache-2.0
"""Judges the shipped folder through transformers: bits per character on held-out text, samples, a greedy reference."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from tokenizers import Tokenizer
from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers.utils import logging as transformers_logging

from demo_model import DemoModelError, corpus
from demo_model.corpus import Book
from demo_model.tokenizer import encode
from demo_model.training import bits

TEMPERATURE = 0.7
SAMPLE_TOKENS = 110
SAMPLES = (  # (prompt, seed)
    ("", 1),
    ("The evening was cold, and", 2),
    ("\"My dear Anne,\" said", 3),
    ("Prince Andrew looked at", 4),
    ("I had begun the preparation of", 5),
    ("KING RICHARD:\n", 6),
)
GREEDY_PROMPTS = (  # the first that is decided clearly becomes the reference
    "The carriage stopped before the house, and", "\"I am sure,\" cried Elizabeth,", "Her mother", "Napoleon")
GREEDY_TOKENS = 64
LEAST_MARGIN = 0.01  # a test on greedy tokens must not hang on the last bits of a logit

transformers_logging.disable_progress_bar()


def print_bits(folder: Path, books: list[Book], device: torch.device) -> None:
    """A table of bits per character on each book's held-out part and on all together, in float32."""
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval().to(device)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    context = model.config.max_position_embeddings
    all_bits, all_characters, all_tokens = 0.0, 0, 0
    print("| held-out text | characters | tokens | bits per character |\n| --- | ---: | ---: | ---: |")
    for book in books:
        encoded = encode(tokenizer, book.held_out)
        count = corpus.characters(book.held_out)
        value = bits(lambda ids: model(ids).logits, encoded, context, device)
        print(f"| {book.name} | {count} | {len(encoded.ids)} | {value / count:.3f} |", flush=True)
        all_bits, all_characters, all_tokens = all_bits + value, all_characters + count, all_tokens + len(encoded.ids)
    print(f"| all | {all_characters} | {all_tokens} | {all_bits / all_characters:.3f} |", flush=True)


def print_samples(folder: Path) -> None:
    """Six continuations at TEMPERATURE, on the CPU in float32 so that a seed means the same everywhere."""
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    for prompt, seed in SAMPLES:
        torch.manual_seed(seed)
        ids = torch.tensor([tokenizer(prompt)["input_ids"]], dtype=torch.long)
        out = model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=SAMPLE_TOKENS, do_sample=True,
                             temperature=TEMPERATURE, top_k=0, top_p=1.0, pad_token_id=model.config.eos_token_id)
        text = tokenizer.decode(out[0, ids.shape[1]:], skip_special_tokens=True)
        print(f"\n--- prompt {json.dumps(prompt)}, temperature {TEMPERATURE}, seed {seed}", flush=True)
        print(prompt + text, flush=True)


def greedy(model, ids: list[int], count: int) -> tuple[list[int], float]:
    """`count` greedy tokens (ties to the lowest id, no stop at EOS) and the smallest lead of a choice over the next."""
    tokens, margin = list(ids), float("inf")
    with torch.no_grad():
        for _ in range(count):
            logits = model(torch.tensor([tokens])).logits[0, -1]
            best = int((logits == logits.max()).nonzero()[0])
            top = torch.topk(logits, 2).values
            margin = min(margin, float(top[0] - top[1]))
            tokens.append(best)
    return tokens[len(ids):], margin


def greedy_reference(folder: Path) -> dict:
    """Greedy decoding of the first of GREEDY_PROMPTS where every choice is clear and float64 makes the same ones."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    single = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    double = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float64).eval()
    for prompt in GREEDY_PROMPTS:
        ids = tokenizer(prompt)["input_ids"]
        tokens, margin = greedy(single, ids, GREEDY_TOKENS)
        agree = tokens == greedy(double, ids, GREEDY_TOKENS)[0]
        print(f"{json.dumps(prompt)}: smallest margin {margin:.4f}, float64 {'agrees' if agree else 'differs'}")
        if agree and margin >= LEAST_MARGIN:
            return {"prompt": prompt, "prompt_ids": ids, "greedy_ids": tokens, "text": tokenizer.decode(tokens),
                    "min_top2_margin": margin}
    raise DemoModelError(f"{folder}: no greedy prompt is decided clearly enough; add to GREEDY_PROMPTS")


def write_greedy(folder: Path, path: Path) -> None:
    reference = greedy_reference(folder)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(reference) + "\n", encoding="utf-8")
    print(f"{path}: {json.dumps(reference['prompt'] + reference['text'])}")
