# SPDX-License-Identifier: Apache-2.0
"""Run with: python3 -m unittest discover -s tests/demo_model -p '*_test.py'"""

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

from demo_model import DemoModelError, corpus  # noqa: E402


class Clean(unittest.TestCase):
    def test_title_page_and_headings_go_and_lines_are_joined(self):
        text = "EMMA\n\nBy Somebody\n\nCHAPTER I\n\nOne line\nand  another.\n\n\nCHAPTER II\n\nLater.\n\nFINIS\n"
        self.assertEqual(corpus.clean(text, False, True), ["One line and another.", "Later."])

    def test_heading_on_the_paragraphs_first_line(self):
        self.assertEqual(corpus.clean("Chapter 7\nOn my return.", False, True), ["On my return."])

    def test_a_sentence_about_a_chapter_is_no_heading(self):
        text = "Chapter 1\n\nLetter writing is an art,\nhe said."
        self.assertEqual(corpus.clean(text, False, True), ["Letter writing is an art, he said."])

    def test_footnotes_and_their_marks_go(self):
        text = 'un plaisir, * he said,*(2) "no."\n\n* A pleasure.\n\n*(2) Another.\n\n* * * *\n\n[Editor.]\n\nEnd.'
        self.assertEqual(corpus.clean(text, False, False), ['un plaisir, he said, "no."\n\nEnd.'])

    def test_verse_keeps_its_lines(self):
        self.assertEqual(corpus.clean("    My first\n      my second", False, False), ["My first\nmy second"])
        play = "ROMEO:\nBut soft!\nWhat light?\n3 KING HENRY VI\n\nJULIET:\nAy me!"
        self.assertTrue(corpus.is_play(play))
        self.assertEqual(corpus.clean(play, True, True), ["ROMEO:\nBut soft!\nWhat light?\n\nJULIET:\nAy me!"])

    def test_back_matter_ends_the_book(self):
        self.assertEqual(corpus.clean("The end came.\n\nA NOTE ON THE TEXT\n\nPublisher.", False, False), ["The end came."])

    def test_typography(self):
        self.assertEqual(corpus.normalise("\u201c_I_ don\u2019t\u201d\u2014he\r\n"), '"I don\'t"--he\n')


class Split(unittest.TestCase):
    def test_parts_are_disjoint_cover_the_text_and_hold_out_enough(self):
        text = "\n\n".join(f"Paragraph {i} says what it says." for i in range(1000))
        train, validation, held_out = corpus.split_raw(text)
        self.assertEqual(train + validation + held_out, text)
        self.assertGreaterEqual(len(held_out), 0.05 * len(text))
        self.assertLess(len(held_out), 0.06 * len(text))
        self.assertGreater(len(validation), 0.01 * len(text))
        self.assertTrue(held_out.startswith("Paragraph"))

    def test_no_blank_line(self):
        with self.assertRaises(DemoModelError):
            corpus.split_raw("one line")

    def test_empty_folder_names_itself(self):
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaisesRegex(DemoModelError, "no \\*.txt files"):
                corpus.read_corpus(Path(folder))


if __name__ == "__main__":
    unittest.main()
