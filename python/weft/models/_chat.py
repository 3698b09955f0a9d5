"""Chat templates as checkpoints carry them."""

import json as _json
import os as _os

from .. import _models


class ChatTemplate:
    """The text and the token ids of conversations, by a checkpoint's Jinja template.

        template = weft.models.ChatTemplate.open("Qwen3-0.6B")
        template.render([{"role": "user", "content": "Hello"}], tools=[…], enable_thinking=False)

    Templates run in a sandbox with limits on steps and memory, as jinja2's ImmutableSandboxedEnvironment set up by
    transformers renders them.
    """

    def __init__(self, source, tokenizer=None):
        """source: a template's text. ValueError where it is none."""
        self._template = (
            source
            if isinstance(source, _models.ChatTemplate)
            else _models.ChatTemplate.parse(source, tokenizer)
        )

    @classmethod
    def open(cls, folder, tokenizer=None, model_type="llama"):
        """The template of a model's folder; a built-in one of the tokenizer's family where it has none."""
        folder = _os.fspath(folder)
        return cls(_models.ChatTemplate.open(folder, tokenizer or _models.Tokenizer.open(folder), model_type))

    @classmethod
    def built_in(cls, tokenizer, model_type="llama"):
        """The one that weft has for the tokenizer's family."""
        return cls(_models.ChatTemplate.built_in(tokenizer, model_type))

    @classmethod
    def named(cls, name, tokenizer):
        """'llama2', 'llama3', 'mistral', 'chatml', 'none', or a file with a template."""
        return cls(_models.ChatTemplate.named(_os.fspath(name), tokenizer))

    @property
    def name(self):
        return self._template.name

    @property
    def names(self):
        """'default', and what else the checkpoint has: 'tool_use' is taken where there are tools."""
        return self._template.names

    def render(self, messages, tools=None, documents=None, add_generation_prompt=True, **variables):
        """The text. ValueError with the class and text of the error that the template raises."""
        return self._template.render(_variables(messages, tools, documents, add_generation_prompt, variables))

    def encode(self, messages, tools=None, documents=None, add_generation_prompt=True, **variables):
        """The token ids. Special tokens that stand in the messages' texts are text."""
        return self._template.encode(_variables(messages, tools, documents, add_generation_prompt, variables))


def _variables(messages, tools, documents, add_generation_prompt, variables):
    for message in messages:
        if not hasattr(message, "keys"):
            raise TypeError(f"chat: a message is {{'role': …, 'content': …}}, got {type(message).__name__}")
    variables = {
        "messages": list(messages),
        "tools": tools,
        "documents": documents,
        "add_generation_prompt": add_generation_prompt,
    } | variables
    return _json.dumps(variables, ensure_ascii=False, default=_as_data)


def _as_data(value):
    if hasattr(value, "keys"):
        return {key: value[key] for key in value.keys()}
    raise TypeError(f"chat: a template takes what JSON has, not {type(value).__name__}")
