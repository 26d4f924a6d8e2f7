# SPDX-License-Identifier: Apache-2.0
"""Writes a trained model as a Hugging Face folder, and proves that transformers reads it as what was trained."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer
from torch import Tensor

from demo_model import DemoModelError
from demo_model.network import NORM_EPS, ROPE_THETA, Network
from demo_model.recipe import HEAD_DIM, Recipe
from demo_model.tokenizer import BOS, BOS_ID, EOS, EOS_ID

SIZE_LIMIT = 16 * 1024 * 1024


def config(recipe: Recipe) -> dict:
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "vocab_size": recipe.vocabulary,
        "hidden_size": recipe.hidden,
        "intermediate_size": recipe.intermediate,
        "num_hidden_layers": recipe.layers,
        "num_attention_heads": recipe.heads,
        "num_key_value_heads": recipe.kv_heads,
        "head_dim": HEAD_DIM,
        "hidden_act": "silu",
        "max_position_embeddings": recipe.context,
        "rms_norm_eps": NORM_EPS,
        "rope_parameters": {"rope_type": "default", "rope_theta": ROPE_THETA},
        "attention_bias": False,
        "mlp_bias": False,
        "tie_word_embeddings": True,
        "initializer_range": 0.02,
        "bos_token_id": BOS_ID,
        "eos_token_id": EOS_ID,
        "dtype": "bfloat16",
    }


def tokenizer_config(recipe: Recipe) -> dict:
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": BOS,
        "eos_token": EOS,
        "model_max_length": recipe.context,
        "clean_up_tokenization_spaces": False,
    }


def write(folder: Path, recipe: Recipe, weights: dict[str, Tensor], tokenizer: Tokenizer) -> None:
    """Writes the five files. Raises DemoModelError when they are more than SIZE_LIMIT together."""
    folder.mkdir(parents=True, exist_ok=True)
    stored = {name: weight.to(torch.bfloat16).contiguous() for name, weight in sorted(weights.items())}
    save_file(stored, str(folder / "model.safetensors"), metadata={"format": "pt"})
    tokenizer.save(str(folder / "tokenizer.json"))
    _write_json(folder / "config.json", config(recipe))
    # No temperature and no do_sample: a folder without them asks for greedy decoding.
    _write_json(folder / "generation_config.json", {"bos_token_id": BOS_ID, "eos_token_id": EOS_ID})
    _write_json(folder / "tokenizer_config.json", tokenizer_config(recipe))
    size = sum(path.stat().st_size for path in folder.iterdir())
    if size > SIZE_LIMIT:
        raise DemoModelError(f"{folder} holds {size} bytes, more than {SIZE_LIMIT}; make the recipe smaller")


def verify(folder: Path, recipe: Recipe, weights: dict[str, Tensor]) -> float:
    """Largest difference of logits, relative to their norm, between the trained network and transformers' reading."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    ours = Network(recipe).eval()
    ours.load_state_dict({name: weight.to(torch.bfloat16).float() for name, weight in weights.items()})
    theirs = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    text = "She suddenly paused, smiling at her own impetuosity.\n\n\"Well,\" said he, in 1805."
    tokenizer = AutoTokenizer.from_pretrained(folder)
    ids = tokenizer(text)["input_ids"]
    if ids[0] != BOS_ID or tokenizer.decode(ids, skip_special_tokens=True) != text:
        raise DemoModelError(f"transformers reads {folder}/tokenizer.json differently: {ids}")
    batch = torch.tensor([ids])
    with torch.no_grad():
        a, b = ours(batch), theirs(batch).logits
    error = float((a - b).norm() / b.norm())
    if not error < 1e-4:
        raise DemoModelError(f"{folder}: transformers' logits differ from the trained network's by {error:.2e}")
    return error


def _write_json(path: Path, value: dict) -> None:
    path.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")
