# SPDX-License-Identifier: Apache-2.0
"""The parts of tools/train_demo_model.py: corpus, tokenizer, network, training, export, evaluation."""


class DemoModelError(Exception):
    """Something the caller can mend; the message names the culprit."""
