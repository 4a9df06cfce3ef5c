"""Hugging Face folders: config.json, weights in one file or in shards, a tokenizer and a chat template."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from webxpu.errors import FormatError, Unsupported
from webxpu.formats.safetensors import INDEX_NAME, Safetensors, read_safetensors, read_sharded
from webxpu.formats.tensor_info import TensorInfo
from webxpu.llm import models
from webxpu.llm.checkpoint import Checkpoint, identity_of
from webxpu.llm.files import Files
from webxpu.llm.hf_config import config_from_hf, model_tensors, names_of, vocab_of
from webxpu.llm.load_tokenizer import CONFIG_NAME, tokenizer_of
from webxpu.text.template import ChatTemplate
from webxpu.text.tokenizers import AnyTokenizer

WEIGHTS_NAME = "model.safetensors"


async def open_folder(files: Files, values: Mapping[str, Any]) -> Checkpoint:
    """The model of a folder whose config.json says `values`. Raises FormatError, Unsupported, FetchError."""
    table = await read_table(files)
    generation = await files.find_json("generation_config.json")
    return await checkpoint_of(files, values, generation, table.tensors, "safetensors")


async def checkpoint_of(
    files: Files,
    values: Mapping[str, Any],
    generation: Mapping[str, Any] | None,
    table: Mapping[str, TensorInfo],
    form: str,
) -> Checkpoint:
    """The model of a config.json, a generation_config.json and a table of tensors; its tokenizer is among `files`."""
    config = config_from_hf(values, vocab_of(table))
    architecture = models.find(config.architecture)
    tensors = model_tensors(values, table)
    weights = architecture.weights(config, tensors, names_of(config.architecture))
    text = await read_text(files)
    ends = _ids(values, "config.json") if generation is None else _ids(generation, "generation_config.json")
    return Checkpoint(
        architecture,
        config,
        weights,
        text.tokenizer,
        text.template,
        tuple(dict.fromkeys((*ends, *text.eos_ids))),
        identity_of(config, tensors, files.hashes),
        files.place(next(iter(tensors.values())).file),
        no_tokenizer=text.reason,
        form=form,
        tensors=tensors,
        hashes=files.hashes,
    )


async def read_table(files: Files) -> Safetensors:
    """Where the tensors lie: of model.safetensors, else of the shards that its index names."""
    if await files.exists(WEIGHTS_NAME):
        return await read_safetensors(files.reader(WEIGHTS_NAME), name=WEIGHTS_NAME)
    if await files.exists(INDEX_NAME):
        return await read_sharded(files.reader(INDEX_NAME), files.reader, name=INDEX_NAME)
    raise files.incomplete("weights in safetensors")


class Text:
    """What a folder says about text."""

    def __init__(self, tokenizer: AnyTokenizer | None, reason: str, template: ChatTemplate | None) -> None:
        self.tokenizer, self.reason, self.template = tokenizer, reason, template

    @property
    def eos_ids(self) -> tuple[int, ...]:
        return () if self.tokenizer is None else self.tokenizer.eos_ids


async def read_text(files: Files) -> Text:
    """The tokenizer and the chat template of a folder; None for those that it lacks."""
    settings = await files.find_json(CONFIG_NAME) or {}
    tokenizer, reason = None, "tokenizer: the folder has neither a tokenizer.json nor a tokenizer.model"
    try:
        tokenizer = await tokenizer_of(files, settings)
    except Unsupported as e:
        reason = str(e)
    return Text(tokenizer, reason, await _template(files, settings))


async def _template(files: Files, settings: Mapping[str, Any]) -> ChatTemplate | None:
    """chat_template.jinja, else chat_template of tokenizer_config.json: a text, or a list of which one is "default"."""
    own = await files.find("chat_template.jinja")
    source: Any = settings.get("chat_template") if own is None else _decoded(own, "chat_template.jinja")
    if isinstance(source, list):
        entries = (item for item in source if isinstance(item, dict) and item.get("name") == "default")
        source = next(entries, {}).get("template")
    if source is None:
        return None
    if not isinstance(source, str):
        raise FormatError(f"tokenizer_config.json: chat_template must be a text, got {type(source).__name__}")
    return ChatTemplate(source, _token(settings.get("bos_token")), _token(settings.get("eos_token")))


def _token(value: Any) -> str | None:
    """A token in tokenizer_config.json: its text, or an object that has it."""
    text = value.get("content") if isinstance(value, Mapping) else value
    return text if isinstance(text, str) else None


def _decoded(data: bytes, name: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as e:
        raise FormatError(f"{name}: byte {e.start} must be UTF-8, got {e.reason}") from e


def _ids(values: Mapping[str, Any], name: str) -> list[int]:
    """`eos_token_id`: an id, or several."""
    found = values.get("eos_token_id")
    ids = found if isinstance(found, list) else [] if found is None else [found]
    if not all(type(i) is int and i >= 0 for i in ids):
        raise FormatError(f"{name}: eos_token_id must be an id or a list of ids, got {str(found)[:80]}")
    return ids
