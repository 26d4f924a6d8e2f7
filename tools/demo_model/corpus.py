# SPDX-License-Identifier: Apache-2.0
"""Reads plain-text books, sets their ends aside and turns them into flowing prose.

Needs the standard library alone. A book is cut on its raw text, before anything else sees it: the last 5 % is
held out (reported, never trained or tuned on), the 2 % before it serves early stopping and the choice of a recipe,
the rest is trained on. Cuts move back to the nearest blank line, so the held-out part is never below its share.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path

from demo_model import DemoModelError

HELD_OUT_SHARE = 0.05
VALIDATION_SHARE = 0.02
PARAGRAPH_BREAK = "\n\n"

# One way to write a quotation mark or a dash: the books differ, and a prompt is typed on a keyboard.
_TYPOGRAPHY = str.maketrans({
    "\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u2014": "--", "\u2013": "-",
    "\u2026": "...", "\u00a0": " ", "\ufeff": "", "\t": " ", "_": "",
})
_HEADING = re.compile(
    r"^(?:CHAPTER|Chapter|VOLUME|Volume|BOOK|PART|LETTER|Letter)\s+[\w:. -]{1,40}$"
    r"|^(?:(?:FIRST|SECOND) EPILOGUE.*|EPILOGUE.*|THE END|The End|FINIS|Finis)\.?$")
_BACK_MATTER = re.compile(r"^A NOTE ON THE TEXT$")
_STRAY_LINE = re.compile(r"^\d KING HENRY [IV]+$")  # a page header left inside speeches
_FOOTNOTE_MARK = re.compile(r" ?\*+(?:\s?\(\d+\))?")
_SPEAKER = re.compile(r"^[A-Z][A-Za-z ',.-]{1,30}:\n")


@dataclass(frozen=True)
class Book:
    """One book as passages (chapters) of text: paragraphs joined by PARAGRAPH_BREAK."""

    name: str
    train: list[str]
    validation: list[str]
    held_out: list[str]


def split_raw(text: str) -> tuple[str, str, str]:
    """Cuts raw text into (train, validation, held out) at blank lines."""
    held_at = _cut_before(text, 1.0 - HELD_OUT_SHARE)
    validation_at = _cut_before(text, 1.0 - HELD_OUT_SHARE - VALIDATION_SHARE)
    return text[:validation_at], text[validation_at:held_at], text[held_at:]


def _cut_before(text: str, share: float) -> int:
    at = text.rfind("\n\n", 0, int(len(text) * share))
    if at < 0:
        raise DemoModelError("a book without a blank line in its training part cannot be split")
    return at + 2


def is_play(text: str) -> bool:
    """True when most paragraphs are a speaker's name on a line of its own and a speech in verse."""
    paragraphs = [p for p in re.split(r"\n\s*\n", text) if p.strip()]
    spoken = sum(1 for p in paragraphs if _SPEAKER.match(p))
    return spoken * 2 > len(paragraphs)


def clean(text: str, play: bool, opening: bool) -> list[str]:
    """Raw text to passages. `opening`: the text starts with the book's title page, which is dropped."""
    passages: list[list[str]] = [[]]
    seen_heading = not opening or play
    for raw in re.split(r"\n\s*\n", text):
        lines = [line.rstrip() for line in raw.split("\n") if line.strip()]
        if lines and _BACK_MATTER.match(lines[0].strip()):
            break
        heading = False
        while lines and _HEADING.match(lines[0].strip()):
            heading = seen_heading = True
            lines = lines[1:]
        if heading:
            passages.append([])
        paragraph = _clean_paragraph(lines, play) if seen_heading else ""
        if paragraph:
            passages[-1].append(paragraph)
    return [PARAGRAPH_BREAK.join(p) for p in passages if p]


def _clean_paragraph(lines: list[str], play: bool) -> str:
    lines = [line for line in lines if not _STRAY_LINE.match(line.strip())]
    if not lines or lines[0].lstrip().startswith(("*", "[")):  # footnotes, rows of stars, editors' remarks
        return ""
    verse = play or all(line.startswith("    ") for line in lines)
    joined = "\n".join(line.strip() for line in lines) if verse else " ".join(line.strip() for line in lines)
    joined = _FOOTNOTE_MARK.sub("", joined)
    joined = re.sub(r" {2,}", " ", joined)
    return joined.strip()


def normalise(text: str) -> str:
    """Line ends, Unicode form and typography, the same for every book."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return unicodedata.normalize("NFC", text).translate(_TYPOGRAPHY)


def read_book(path: Path) -> Book:
    """One text file to a Book. Raises DemoModelError when a part of it comes out empty."""
    raw = path.read_text(encoding="utf-8")
    play = is_play(normalise(raw))
    parts = [clean(normalise(part), play, opening=i == 0) for i, part in enumerate(split_raw(raw))]
    for label, part in zip(("training", "validation", "held-out"), parts):
        if not part:
            raise DemoModelError(f"{path}: nothing is left of its {label} part; is it a plain-text book?")
    return Book(path.stem, *parts)


def read_corpus(folder: Path) -> list[Book]:
    """Every *.txt of `folder`, in order of name."""
    paths = sorted(folder.glob("*.txt"))
    if not paths:
        raise DemoModelError(f"{folder}: no *.txt files; give the folder that holds the books with --corpus")
    return [read_book(path) for path in paths]


def characters(passages: list[str]) -> int:
    return sum(len(passage) for passage in passages)
