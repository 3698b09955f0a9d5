"""Language models: from a folder of weights to text.

    model = weft.models.CausalModel.from_pretrained("Llama-3.2-1B", quantize="int8")
    print(model.generate("Once upon a time", max_new_tokens=100))
    for piece in model.stream("Once upon a time", temperature=0.8, seed=1):
        print(piece, end="", flush=True)

A conversation computes each turn once where its texts share a context:

    context, messages = weft.models.Context(), []
    for question in ("Who wrote Emma?", "And when?"):
        messages.append({"role": "user", "content": question})
        answer = model.generate(messages, context=context)
        messages.append({"role": "assistant", "content": answer})
"""

import operator as _operator
import os as _os

from .. import _models
from .._models import Context, KVCache, Tokenizer, load_safetensors, save_safetensors
from ._chat import ChatTemplate
from .sam import Sam, SamAutomaticMaskGenerator, SamConfig, SamPredictor

__all__ = ["CausalModel", "ChatTemplate", "Context", "KVCache", "Llama", "Sam", "SamAutomaticMaskGenerator", "SamConfig", "SamPredictor", "Tokenizer", "load_safetensors",
           "save_safetensors"]  # fmt: skip


class CausalModel:
    """A decoder-only language model of any family that weft describes (docs/LANGUAGE_MODELS.md).

    Activations are float32; weights are what the checkpoint has, or what `quantize` makes of them.
    """

    def __init__(self, model, tokenizer=None, load_shared=None, chat_template=None):
        self._model = model
        self.tokenizer = tokenizer
        self._chat_template = chat_template  # a function that makes it
        self._load_shared = load_shared  # makes this rank's part of the model

    def _share(self):
        """Becomes this rank's part of the model (weft.distributed.tensor_parallel.apply)."""
        if self._model.num_ranks > 1:
            return
        if self._load_shared is None:
            raise TypeError("tensor_parallel.apply: the model was not made by from_pretrained")
        self._model = self._load_shared()

    @classmethod
    def from_pretrained(
        cls,
        folder,
        dtype="",
        quantize="",
        activations="",
        cache_dtype="",
        max_positions=0,
        execution="compiled",
        progress=None,
        verify=False,
        tensor_parallel=False,
        device="cpu",
    ):
        """The model of a Hugging Face or Meta folder or of a GGUF file, memory-mapped, or of a folder that
        `weft quantize` wrote.

        dtype: of the weights, 'float32', 'bfloat16' or 'float16' (default: the checkpoint's). quantize: 'int8',
        'int4-g32', 'int4-g64', 'int4-g128', 'int4-g256'. activations: how inputs enter products with quantized
        weights, 'auto', 'float32', 'int16', 'int8' (the fastest prefill), with bfloat16 weights 'auto' or 'bfloat16' (more than
        16 rows are rounded to it, as PyTorch's are) or 'float32' (exact).
        cache_dtype: of keys and values, one of dtype's or 'int8' (default: the weights'). max_positions: context in tokens (default: the model's,
        at most 8192). execution: 'eager', 'static' (static KV cache), 'compiled'. progress: called with layers done
        and layers in all. verify: compare the checksums of .pth and .bin files first, which reads all of them; ValueError
        for safetensors, which hold none. tensor_parallel: this rank's part alone is read (weft.distributed); every rank makes
        the same calls, and gets the same logits and texts. device: 'cuda' or 'cuda:1' (docs/GPU.md), where every execution is
        'static' and activations are float32. RuntimeError and ValueError name the file and tensor.
        """
        folder = _os.fspath(folder)
        if progress is not None and not callable(progress):
            raise TypeError(f"from_pretrained: progress must be callable, got {type(progress).__name__}")
        if execution not in ("eager", "static", "compiled"):
            raise ValueError(
                f"from_pretrained: execution must be 'eager', 'static' or 'compiled', got {execution!r}"
            )
        dtype, cache_dtype = (
            getattr(d, "name", None) or str(d).removeprefix("weft.") for d in (dtype, cache_dtype)
        )

        def load(shared):
            return _models.CausalModel.from_pretrained(
                folder,
                dtype,
                quantize or "",
                activations,
                cache_dtype,
                max_positions,
                execution,
                progress,
                verify,
                shared,
                str(device),
            )

        model = load(tensor_parallel)
        files = ("tokenizer.json", "tokenizer.model")
        if not _os.path.isfile(folder) and not any(
            _os.path.exists(_os.path.join(folder, file)) for file in files
        ):
            return cls(model, None, lambda: load(True))
        tokenizer = Tokenizer.open(folder)
        model.check_tokenizer(tokenizer, folder)
        return cls(
            model,
            tokenizer,
            lambda: load(True),
            lambda: ChatTemplate.open(folder, tokenizer, model.config["model_type"]),
        )

    @classmethod
    def random(
        cls,
        shape,
        dtype="bfloat16",
        quantize="",
        max_positions=0,
        num_layers=0,
        seed=0,
        activations="",
        tensor_parallel=False,
        device="cpu",
    ):
        """A model of known sizes ('llama-7b', 'llama-1b', …) whose weights mean nothing, for measuring.

        num_layers: of that many layers instead of the shape's (0). ValueError for an unknown shape.
        """
        return cls(
            _models.CausalModel.random(
                shape,
                dtype,
                quantize,
                activations,
                max_positions,
                num_layers,
                seed,
                tensor_parallel,
                str(device),
            )
        )

    @property
    def config(self):
        return self._model.config

    @property
    def bytes_per_token(self):
        """Bytes of weights that one token reads."""
        return self._model.bytes_per_token

    @property
    def chat_template(self):
        """The ChatTemplate of the model's folder; may be set to another one."""
        if callable(self._chat_template):
            self._chat_template = self._chat_template()
        return self._chat_template

    @chat_template.setter
    def chat_template(self, template):
        self._chat_template = template

    def make_cache(self, capacity=0):
        """Room for the keys and values of `capacity` tokens (default: max_positions)."""
        return self._model.make_cache(capacity)

    def forward(self, tokens, cache, all_logits=False):
        """Logits float32 [1, vocab_size] after the last of `tokens`, or [tokens, vocab_size] with `all_logits`.

        The tokens take the positions from cache.length on, which grows. IndexError for ids outside the vocabulary,
        ValueError for no tokens or more than the cache has room for.
        """
        return self._model.forward(_token_ids(tokens, "forward"), cache, all_logits)

    __call__ = forward

    def stream(
        self,
        prompt,
        max_new_tokens=256,
        temperature=0.0,
        top_k=0,
        top_p=1.0,
        min_p=0.0,
        repetition_penalty=1.0,
        seed=0,
        stop=(),
        ignore_eos=False,
        draft=None,
        speculate_k=4,
        context=None,
        special=False,
        tools=None,
        chat_variables=None,
    ):
        """An iterator over pieces of text; its `stats`, `tokens` and `finish_reason` tell more.

        prompt: text, token ids, or a conversation as [{'role': …, 'content': …}, …]. temperature 0 takes the most
        likely token. stop: texts before which to end. draft: another CausalModel, or 'prompt-lookup', whose tokens the
        model checks `speculate_k` at a time. context: a Context of earlier texts; the part of the prompt that it holds
        is not computed again (`stats["kept_tokens"]`), and a text begun in it earlier cannot go on. special: special
        tokens written in a prompt that is text are tokens. tools, chat_variables: of a conversation, what its template
        (`chat_template`) is given beside the messages: definitions of functions, {'enable_thinking': False}. ValueError for a prompt that is empty or longer than the
        model's positions.
        """
        if self.tokenizer is None:
            raise ValueError("the model's folder has no tokenizer: set model.tokenizer, or use forward()")
        lookup = isinstance(draft, str) and draft == "prompt-lookup"
        if isinstance(draft, str) and not lookup:
            raise ValueError(f"generate: draft must be a CausalModel or 'prompt-lookup', got {draft!r}")
        if draft is not None and not lookup and not isinstance(draft, CausalModel):
            raise TypeError(
                f"generate: draft must be a CausalModel or 'prompt-lookup', got {type(draft).__name__}"
            )
        if not isinstance(stop, (str, list, tuple)):
            raise TypeError(f"generate: stop must be a str or a list of str, got {type(stop).__name__}")
        return self._model.stream(
            self.tokenizer,
            self._ids(prompt, special, tools, chat_variables),
            max_new_tokens,
            temperature,
            top_k,
            top_p,
            min_p,
            repetition_penalty,
            seed,
            [stop] if isinstance(stop, str) else list(stop),
            ignore_eos,
            None if lookup or draft is None else draft._model,
            lookup,
            speculate_k,
            context,
        )

    def generate(self, prompt, **options):
        """The text that stream() gives, as one string."""
        return "".join(self.stream(prompt, **options))

    def _conversation_template(self):
        if self.chat_template is None:
            self.chat_template = ChatTemplate.built_in(self.tokenizer, self.config["model_type"])
        return self.chat_template

    def _ids(self, prompt, special, tools, chat_variables):
        is_chat = isinstance(prompt, (list, tuple)) and len(prompt) > 0 and isinstance(prompt[0], dict)
        if is_chat:
            return self._conversation_template().encode(prompt, tools, **(chat_variables or {}))
        if tools is not None or chat_variables:
            raise ValueError("generate: tools and chat_variables need a conversation as the prompt")
        if isinstance(prompt, str):
            return self.tokenizer.encode(prompt, special=special)
        return _token_ids(prompt, "generate")


def _token_ids(tokens, function):
    try:
        return [_operator.index(token) for token in tokens]
    except TypeError as error:
        what = "text, token ids or a conversation" if function == "generate" else "token ids"
        raise TypeError(f"{function}: expected {what}, got {type(tokens).__name__}: {error}") from None


Llama = CausalModel  # the name that programs have used since there was one family
