# SPDX-License-Identifier: Apache-2.0
"""Trains the byte-level BPE tokenizer and encodes books with it."""

from __future__ import annotations

from dataclasses import dataclass

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, processors, trainers

from demo_model import DemoModelError
from demo_model.corpus import PARAGRAPH_BREAK, Book

BOS, EOS = "<|begin_of_text|>", "<|end_of_text|>"
BOS_ID, EOS_ID = 0, 1

# The split of Llama 3: contractions, words with one leading sign, digits by three, runs of signs, line ends, spaces.
_SPLIT = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
          r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")


@dataclass(frozen=True)
class Encoded:
    """Token ids of passages, each as BOS … EOS, and where paragraphs start in them (never the BOS itself)."""

    ids: list[int]
    paragraph_starts: list[int]


def train(books: list[Book], vocabulary: int) -> Tokenizer:
    """A tokenizer of exactly `vocabulary` tokens, from the training parts alone."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(_SPLIT), behavior="isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    ])
    tokenizer.decoder = decoders.ByteLevel()
    special = [AddedToken(BOS, special=True, normalized=False), AddedToken(EOS, special=True, normalized=False)]
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary, special_tokens=special, show_progress=False,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()))
    tokenizer.train_from_iterator((passage for book in books for passage in book.train), trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{BOS} $A", pair=f"{BOS} $A {BOS}:1 $B:1", special_tokens=[(BOS, BOS_ID)])
    if tokenizer.token_to_id(BOS) != BOS_ID or tokenizer.token_to_id(EOS) != EOS_ID:
        raise DemoModelError("the special tokens did not get the ids 0 and 1")
    if tokenizer.get_vocab_size() != vocabulary:
        raise DemoModelError(f"the tokenizer has {tokenizer.get_vocab_size()} tokens instead of {vocabulary}")
    return tokenizer


def encode(tokenizer: Tokenizer, passages: list[str]) -> Encoded:
    """Encodes passages paragraph by paragraph; a break ends a piece of the split, so the ids are the whole text's."""
    ids: list[int] = []
    starts: list[int] = []
    for passage in passages:
        paragraphs = passage.split(PARAGRAPH_BREAK)
        texts = [p + PARAGRAPH_BREAK for p in paragraphs[:-1]] + [paragraphs[-1]]
        ids.append(BOS_ID)
        for encoding in tokenizer.encode_batch(texts, add_special_tokens=False):
            starts.append(len(ids))
            ids.extend(encoding.ids)
        ids.append(EOS_ID)
    _check_first(tokenizer, passages, ids)
    return Encoded(ids, starts)


def _check_first(tokenizer: Tokenizer, passages: list[str], ids: list[int]) -> None:
    whole = tokenizer.encode(passages[0]).ids
    if ids[:len(whole)] != whole:
        raise DemoModelError("encoding by paragraphs differs from encoding the passage at once")
    if tokenizer.decode(whole) != passages[0]:
        raise DemoModelError("decoding an encoded passage does not give it back")
