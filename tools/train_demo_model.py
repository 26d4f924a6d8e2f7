#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes and judges the demo model (models/demo). Needs PyTorch, tokenizers, safetensors and transformers.

    train_demo_model.py --corpus DIR                    train, and write models/demo
    train_demo_model.py --corpus DIR --eval             bits per character on the held-out text, and six samples
    train_demo_model.py --write-greedy FILE.json        a greedy reference for the engine's tests
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import torch
from tokenizers import Tokenizer

from demo_model import DemoModelError, corpus, evaluate, export, tokenizer as bpe
from demo_model.corpus import Book
from demo_model.recipe import DEFAULT_RECIPE, RECIPES, Recipe, override
from demo_model.tokenizer import Encoded
from demo_model.training import Result, Trainer

ROOT = Path(__file__).resolve().parent.parent


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, help="folder of plain-text books (*.txt)")
    parser.add_argument("--model", type=Path, default=ROOT / "models" / "demo", help="the model's folder")
    parser.add_argument("--eval", action="store_true", help="judge --model instead of training")
    parser.add_argument("--write-greedy", type=Path, metavar="FILE", help="write the greedy reference of --model")
    parser.add_argument("--recipe", action="append", choices=list(RECIPES),
                        help=f"what to train (repeatable: the best is kept; default {DEFAULT_RECIPE})")
    parser.add_argument("--set", action="append", default=[], metavar="FIELD=VALUE", help="change the recipes")
    parser.add_argument("--minutes", type=float, default=9.0, help="wall-clock limit of all training (default 9)")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--compile", action="store_true", help="train through torch.compile")
    options = parser.parse_args(arguments)
    if not options.corpus and not (options.write_greedy and not options.eval):
        parser.error("--corpus DIR is needed: the folder with the books")
    if not options.minutes > 0:
        parser.error("--minutes: give a positive number")
    return options


def join(parts: list[Encoded]) -> Encoded:
    ids: list[int] = []
    starts: list[int] = []
    for part in parts:
        starts.extend(len(ids) + start for start in part.paragraph_starts)
        ids.extend(part.ids)
    return Encoded(ids, starts)


def train_one(recipe: Recipe, books: list[Book], seconds: float,
              options: argparse.Namespace) -> tuple[Result, Tokenizer]:
    tokenizer = bpe.train(books, recipe.vocabulary)
    train = join([bpe.encode(tokenizer, book.train) for book in books])
    validation = join([bpe.encode(tokenizer, book.validation) for book in books])
    characters = sum(corpus.characters(book.validation) for book in books)
    print(f"{recipe}\n{recipe.name}: {recipe.parameters} parameters, {len(train.ids)} training tokens", flush=True)
    trainer = Trainer(recipe, train, validation, characters, torch.device(options.device), seconds, options.compile)
    return trainer.run(), tokenizer


def train_all(recipes: list[Recipe], books: list[Book], options: argparse.Namespace) -> None:
    """Trains each recipe, writes the best on the validation part to --model and prints a table."""
    deadline = time.monotonic() + 60.0 * options.minutes
    results: list[Result] = []
    best: tuple[Result, Tokenizer] | None = None
    for index, recipe in enumerate(recipes):
        share = (deadline - time.monotonic()) / (len(recipes) - index)
        result, tokenizer = train_one(recipe, books, max(share, 1.0), options)
        results.append(result)
        if best is None or result.validation_bpc < best[0].validation_bpc:
            best = (result, tokenizer)
    chosen, tokenizer = best
    export.write(options.model, chosen.recipe, chosen.weights, tokenizer)
    error = export.verify(options.model, chosen.recipe, chosen.weights)
    print(f"{options.model}: recipe {chosen.recipe.name}; transformers' logits agree to {error:.1e}")
    print("| recipe | parameters | validation bpc | best step | steps | seconds |\n"
          "| --- | ---: | ---: | ---: | ---: | ---: |")
    for r in results:
        print(f"| {r.recipe.name} | {r.recipe.parameters} | {r.validation_bpc:.4f} | {r.step} | {r.steps} |"
              f" {r.seconds:.0f} |", flush=True)


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    try:
        books = corpus.read_corpus(options.corpus) if options.corpus else []
        if options.eval:
            evaluate.print_bits(options.model, books, torch.device(options.device))
            evaluate.print_samples(options.model)
        elif not options.write_greedy:
            recipes = [override(RECIPES[name], options.set) for name in options.recipe or [DEFAULT_RECIPE]]
            for recipe in recipes:
                recipe.check()
            train_all(recipes, books, options)
        if options.write_greedy:
            evaluate.write_greedy(options.model, options.write_greedy)
    except (DemoModelError, OSError) as error:
        print(f"train_demo_model.py: error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
