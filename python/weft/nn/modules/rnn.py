"""Recurrent networks."""

import itertools
import math
from typing import List, Optional, Tuple

import weft
from weft import Tensor, _drawing
from weft.nn import _types, init
from weft.nn.utils.rnn import PackedSequence

from ._shared import empty
from .module import Module

_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


def _permuted(hidden: Tensor, permutation: Optional[Tensor]) -> Tensor:
    """A state [layers, batch, size] with its sequences in another order."""
    if permutation is None:
        return hidden
    return hidden.index_select(1, permutation)


def _batch_of(input: Tensor, batch_sizes: Optional[Tensor], batch_first: bool) -> int:
    if batch_sizes is not None:
        return int(batch_sizes[0])
    return input.size(0) if batch_first else input.size(1)


def _zero_state(input: Tensor, layers: int, batch: int, size: int) -> Tensor:
    return weft.zeros([layers, batch, size], dtype=input.dtype, device=input.device)


def _check_dimensions(input: Tensor) -> None:
    if input.dim() != 2 and input.dim() != 3:
        raise ValueError(f"expected input of 2 or 3 dimensions, got {input.dim()}")


def _check_arguments(rnn):
    owner = type(rnn).__name__
    if rnn.mode not in _GATES:
        raise ValueError(f"{owner}: mode must be one of {', '.join(_GATES)}, got {rnn.mode!r}")
    if isinstance(rnn.dropout, bool) or not 0 <= rnn.dropout <= 1:
        raise ValueError(f"{owner}: dropout must be between 0 and 1, got {rnn.dropout}")
    for name in ("hidden_size", "num_layers"):
        value = getattr(rnn, name)
        if not isinstance(value, int):
            raise TypeError(f"{owner}: {name} must be an int, got {type(value).__name__}")
        if value <= 0:
            raise ValueError(f"{owner}: {name} must be positive, got {value}")
    if rnn.proj_size < 0 or rnn.proj_size >= rnn.hidden_size:
        raise ValueError(
            f"{owner}: proj_size must be at least 0 and less than hidden_size {rnn.hidden_size}, got {rnn.proj_size}"
        )
    if rnn.proj_size and rnn.mode != "LSTM":
        raise ValueError(f"{owner}: proj_size is for LSTM only")


def _add_layer(rnn, layer, suffix, device, dtype):
    rows, state = _GATES[rnn.mode] * rnn.hidden_size, rnn.proj_size or rnn.hidden_size
    columns = rnn.input_size if layer == 0 else state * (2 if rnn.bidirectional else 1)
    shapes = {"weight_ih": (rows, columns), "weight_hh": (rows, state)}
    if rnn.bias:
        shapes.update(bias_ih=(rows,), bias_hh=(rows,))
    if rnn.proj_size:
        shapes["weight_hr"] = (rnn.proj_size, rnn.hidden_size)
    names = []
    for kind, shape in shapes.items():
        names.append(f"{kind}_l{layer}{suffix}")
        setattr(rnn, names[-1], empty(*shape, dtype=dtype, device=device))
    rnn._all_weights.append(names)
    rnn._flat_weights_names.extend(names)


def _drops(rnn):
    return rnn.training and rnn.dropout > 0 and rnn.num_layers > 1


def _with_dropout(rnn, run, input, states, batch_sizes=None):
    """Layer by layer, with dropout between them: (output, the state or states at the end)."""
    is_turned = rnn.batch_first and batch_sizes is None
    x = input.transpose(0, 1) if is_turned else input
    directions, count = 2 if rnn.bidirectional else 1, len(rnn._flat_weights) // rnn.num_layers
    ends = [[] for _ in states]
    for layer in range(rnn.num_layers):
        own = [state[layer * directions : (layer + 1) * directions] for state in states]
        operands = [x, own if len(own) > 1 else own[0], rnn._flat_weights[layer * count : (layer + 1) * count],
                    rnn.bias, 1, 0.0, False, rnn.bidirectional]  # fmt: skip
        if batch_sizes is None:
            results = run(*operands, False)
        else:
            results = run(x, batch_sizes, *operands[1:])
        x = results[0]
        for i in range(len(states)):
            ends[i].append(results[i + 1])
        if layer + 1 < rnn.num_layers:
            x = _drawing.dropout(x, rnn.dropout, True)
    output = x.transpose(0, 1) if is_turned else x
    return (output, *(weft.cat(each) for each in ends))


def _forward_packed(rnn, run, input, hx):
    """forward() of a PackedSequence. run: the operator."""
    rnn._update_flat_weights()
    data, batch_sizes, sorted_indices, unsorted_indices = input
    is_lstm = rnn.mode == "LSTM"
    if hx is None:
        layers, batch = rnn.num_layers * (2 if rnn.bidirectional else 1), int(batch_sizes[0])
        hx = _zero_state(data, layers, batch, rnn.proj_size or rnn.hidden_size)
        if is_lstm:
            hx = hx, _zero_state(data, layers, batch, rnn.hidden_size)
    else:
        hx = rnn.permute_hidden(hx, sorted_indices)
    rnn.check_forward_args(data, hx, batch_sizes)
    if _drops(rnn):
        output, *ends = _with_dropout(rnn, run, data, list(hx) if is_lstm else [hx], batch_sizes)
    else:
        output, *ends = run(data, batch_sizes, list(hx) if is_lstm else hx, rnn._flat_weights, rnn.bias, rnn.num_layers,
                            rnn.dropout, rnn.training, rnn.bidirectional)  # fmt: skip
    hidden = rnn.permute_hidden(tuple(ends) if is_lstm else ends[0], unsorted_indices)
    return PackedSequence(output, batch_sizes, sorted_indices, unsorted_indices), hidden


class RNNBase(Module):
    """Layers of recurrent cells over sequences.

    mode: LSTM, GRU, RNN_TANH or RNN_RELU. bidirectional: each layer reads its sequence forwards and backwards.
    batch_first: input[batch, steps, input_size] instead of [steps, batch, input_size]; input[steps, input_size] is one
    sequence. proj_size (LSTM): the hidden state is projected to this size. dropout: between layers, in training mode.
    """

    __constants__ = [
        "mode",
        "input_size",
        "hidden_size",
        "num_layers",
        "bias",
        "batch_first",
        "dropout",
        "bidirectional",
        "proj_size",
    ]
    __jit_unused_properties__ = ["all_weights"]
    mode: str
    input_size: int
    hidden_size: int
    num_layers: int
    bias: bool
    batch_first: bool
    dropout: float
    bidirectional: bool
    proj_size: int
    _flat_weights: List[Tensor]

    def __init__(self, mode, input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0,
                 bidirectional=False, proj_size=0, device=None, dtype=None):  # fmt: skip
        super().__init__()
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        _check_arguments(self)
        self._all_weights = []  # a list of names for each layer and direction
        self._flat_weights_names = []
        for layer, direction in itertools.product(range(num_layers), range(2 if bidirectional else 1)):
            _add_layer(self, layer, "_reverse" if direction else "", device, dtype)
        self._init_flat_weights()
        self.reset_parameters()

    def reset_parameters(self):
        bound = 1 / math.sqrt(self.hidden_size)
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    @property
    def all_weights(self):
        """The parameters of each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def flatten_parameters(self):
        """Nothing to do: the operators take parameters where they lie."""

    def _init_flat_weights(self):
        self._flat_weights = [getattr(self, name, None) for name in self._flat_weights_names]
        self.flatten_parameters()

    def __setstate__(self, state):
        super().__setstate__(state)
        if (
            "_flat_weights_names" not in state
        ):  # files of PyTorch before 1.5, and of weft that has called them otherwise
            self._all_weights = (
                state["_all_weights"] if "_all_weights" in state else self.__dict__.pop("_all_names")
            )
            self._flat_weights_names = [name for names in self._all_weights for name in names]
            self._init_flat_weights()

    def _weights_have_changed(self):
        """Are there others under their names, by a way around this module's attributes?"""
        return any(
            getattr(self, name, None) is not weight
            for name, weight in zip(self._flat_weights_names, self._flat_weights)
        )

    def _update_flat_weights(self):
        if not _types.is_scripting() and self._weights_have_changed():
            self._init_flat_weights()

    def _apply(self, fn, recurse=True):
        super()._apply(fn, recurse)
        self._init_flat_weights()
        return self

    def __setattr__(self, name, value):
        super().__setattr__(name, value)
        if "_flat_weights" in self.__dict__ and name in self._flat_weights_names:
            self._flat_weights[self._flat_weights_names.index(name)] = getattr(self, name)

    # ---- checks of arguments, which subclasses may override as PyTorch's ------------------------------------
    def check_input(self, input: Tensor, batch_sizes: Optional[Tensor]) -> None:
        dimensions = 2 if batch_sizes is not None else 3
        if input.dim() != dimensions:
            raise RuntimeError(f"input must have {dimensions} dimensions, got {input.dim()}")
        if input.size(-1) != self.input_size:
            raise RuntimeError(
                f"expected an input of size {self.input_size} in the last dimension, got {input.size(-1)}"
            )

    def get_expected_hidden_size(self, input: Tensor, batch_sizes: Optional[Tensor]) -> Tuple[int, int, int]:
        batch = _batch_of(input, batch_sizes, self.batch_first)
        size = self.proj_size if self.proj_size > 0 else self.hidden_size
        return self.num_layers * (2 if self.bidirectional else 1), batch, size

    def check_hidden_size(
        self,
        hx: Tensor,
        expected_hidden_size: Tuple[int, int, int],
        msg: str = "Expected hidden size {}, got {}",
    ) -> None:
        layers, batch, size = expected_hidden_size
        if hx.dim() != 3 or hx.size(0) != layers or hx.size(1) != batch or hx.size(2) != size:
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.size())))

    def check_forward_args(self, input: Tensor, hidden: Tensor, batch_sizes: Optional[Tensor]) -> None:
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx: Tensor, permutation: Optional[Tensor]) -> Tensor:
        return _permuted(hx, permutation)

    # ---- what forward() of one state begins and ends with ----------------------------------------------------
    def _weft_begin(self, input: Tensor, hx: Optional[Tensor]) -> Tuple[Tensor, Tensor]:
        """A batch, of one sequence where that is all there is, and its states."""
        _check_dimensions(input)
        is_single = input.dim() == 2
        batch_dim = 0 if self.batch_first else 1
        if is_single:
            input = input.unsqueeze(batch_dim)
        if hx is None:
            layers = self.num_layers * (2 if self.bidirectional else 1)
            hx = _zero_state(input, layers, input.size(batch_dim), self.hidden_size)
        else:
            hx = self.permute_hidden(hx.unsqueeze(1) if is_single else hx, None)
        self.check_forward_args(input, hx, None)
        return input, hx

    def _weft_end(self, output: Tensor, hidden: Tensor, is_single: bool) -> Tuple[Tensor, Tensor]:
        if is_single:
            output, hidden = output.squeeze(0 if self.batch_first else 1), hidden.squeeze(1)
        return output, self.permute_hidden(hidden, None)

    def extra_repr(self):
        text = f"{self.input_size}, {self.hidden_size}"
        text += f", proj_size={self.proj_size}" if self.proj_size else ""
        text += f", num_layers={self.num_layers}" if self.num_layers != 1 else ""
        text += f", bias={self.bias}" if self.bias is not True else ""
        text += f", batch_first={self.batch_first}" if self.batch_first is not False else ""
        text += f", dropout={self.dropout}" if self.dropout else ""
        return text + (f", bidirectional={self.bidirectional}" if self.bidirectional else "")


class RNN(RNNBase):
    """h' = tanh(W_ih x + b_ih + W_hh h + b_hh), or relu for tanh (nonlinearity="relu").

    forward(input, h_0=None): (output[steps, batch, directions * hidden_size], h_n[layers * directions, batch, hidden_size]);
    with a PackedSequence, output is one too.
    """

    def __init__(self, input_size, hidden_size, num_layers=1, nonlinearity="tanh", bias=True, batch_first=False, dropout=0.0,
                 bidirectional=False, device=None, dtype=None, **others):  # fmt: skip
        if others.pop("proj_size", 0):
            raise ValueError("RNN: proj_size is for LSTM only")
        if others:
            raise TypeError(f"RNN: unexpected arguments {sorted(others)}")
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"RNN: nonlinearity must be 'tanh' or 'relu', got {nonlinearity!r}")
        self.nonlinearity = nonlinearity
        super().__init__("RNN_" + nonlinearity.upper(), input_size, hidden_size, num_layers, bias, batch_first, dropout,
                         bidirectional, 0, device, dtype)  # fmt: skip

    def forward(self, input: Tensor, hx: Optional[Tensor] = None) -> Tuple[Tensor, Tensor]:
        if not _types.is_scripting() and isinstance(input, PackedSequence):
            packed = weft.rnn_tanh_packed if self.mode == "RNN_TANH" else weft.rnn_relu_packed
            return _forward_packed(self, packed, input, hx)
        if not _types.is_scripting():
            self._update_flat_weights()
        is_single = input.dim() == 2
        input, hx = self._weft_begin(input, hx)
        if not _types.is_scripting() and _drops(self):
            run = weft.rnn_tanh if self.mode == "RNN_TANH" else weft.rnn_relu
            output, hidden = _with_dropout(self, run, input, [hx])
        elif self.mode == "RNN_TANH":
            output, hidden = weft.rnn_tanh(input, hx, self._flat_weights, self.bias, self.num_layers, self.dropout, self.training,
                                           self.bidirectional, self.batch_first)  # fmt: skip
        else:
            output, hidden = weft.rnn_relu(input, hx, self._flat_weights, self.bias, self.num_layers, self.dropout, self.training,
                                           self.bidirectional, self.batch_first)  # fmt: skip
        return self._weft_end(output, hidden, is_single)


class GRU(RNNBase):
    """r, z = sigmoid of the gates; n = tanh(W_in x + b_in + r * (W_hn h + b_hn)); h' = (1 - z) * n + z * h.

    forward(input, h_0=None): (output[steps, batch, directions * hidden_size], h_n[layers * directions, batch, hidden_size]);
    with a PackedSequence, output is one too.
    """

    def __init__(self, input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False,
                 device=None, dtype=None, **others):  # fmt: skip
        if others.pop("proj_size", 0):
            raise ValueError("GRU: proj_size is for LSTM only")
        if others:
            raise TypeError(f"GRU: unexpected arguments {sorted(others)}")
        super().__init__(
            "GRU",
            input_size,
            hidden_size,
            num_layers,
            bias,
            batch_first,
            dropout,
            bidirectional,
            0,
            device,
            dtype,
        )

    def forward(self, input: Tensor, hx: Optional[Tensor] = None) -> Tuple[Tensor, Tensor]:
        if not _types.is_scripting() and isinstance(input, PackedSequence):
            return _forward_packed(self, weft.gru_packed, input, hx)
        if not _types.is_scripting():
            self._update_flat_weights()
        is_single = input.dim() == 2
        input, hx = self._weft_begin(input, hx)
        if not _types.is_scripting() and _drops(self):
            output, hidden = _with_dropout(self, weft.gru, input, [hx])
        else:
            output, hidden = weft.gru(input, hx, self._flat_weights, self.bias, self.num_layers, self.dropout, self.training,
                                      self.bidirectional, self.batch_first)  # fmt: skip
        return self._weft_end(output, hidden, is_single)


class LSTM(RNNBase):
    """i, f, o = sigmoid, g = tanh of the gates W_ih x + b_ih + W_hh h + b_hh; c' = f * c + i * g; h' = o * tanh(c').

    forward(input, (h_0, c_0)=None): (output[steps, batch, directions * size], (h_n[layers * directions, batch, size],
    c_n[layers * directions, batch, hidden_size])), size being proj_size, where given, or hidden_size; with a
    PackedSequence, output is one too.
    """

    def __init__(self, input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False,
                 proj_size=0, device=None, dtype=None):  # fmt: skip
        super().__init__("LSTM", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, proj_size,
                         device, dtype)  # fmt: skip

    def get_expected_cell_size(self, input: Tensor, batch_sizes: Optional[Tensor]) -> Tuple[int, int, int]:
        batch = _batch_of(input, batch_sizes, self.batch_first)
        return self.num_layers * (2 if self.bidirectional else 1), batch, self.hidden_size

    def check_forward_args(
        self, input: Tensor, hidden: Tuple[Tensor, Tensor], batch_sizes: Optional[Tensor]
    ) -> None:
        self.check_input(input, batch_sizes)
        expected = self.get_expected_hidden_size(input, batch_sizes)
        self.check_hidden_size(hidden[0], expected, "Expected hidden[0] size {}, got {}")
        expected = self.get_expected_cell_size(input, batch_sizes)
        self.check_hidden_size(hidden[1], expected, "Expected hidden[1] size {}, got {}")

    def permute_hidden(
        self, hx: Tuple[Tensor, Tensor], permutation: Optional[Tensor]
    ) -> Tuple[Tensor, Tensor]:
        return _permuted(hx[0], permutation), _permuted(hx[1], permutation)

    def forward(
        self, input: Tensor, hx: Optional[Tuple[Tensor, Tensor]] = None
    ) -> Tuple[Tensor, Tuple[Tensor, Tensor]]:
        if not _types.is_scripting() and isinstance(input, PackedSequence):
            return _forward_packed(self, weft.lstm_packed, input, hx)
        if not _types.is_scripting():
            self._update_flat_weights()
        _check_dimensions(input)
        single = input.dim() == 2
        batch_dim = 0 if self.batch_first else 1
        if single:
            input = input.unsqueeze(batch_dim)
        if hx is None:
            layers, batch = self.num_layers * (2 if self.bidirectional else 1), input.size(batch_dim)
            h = _zero_state(input, layers, batch, self.proj_size if self.proj_size > 0 else self.hidden_size)
            c = _zero_state(input, layers, batch, self.hidden_size)
        else:
            h, c = hx
            if single:
                h, c = h.unsqueeze(1), c.unsqueeze(1)
            h, c = self.permute_hidden((h, c), None)
        self.check_forward_args(input, (h, c), None)
        if not _types.is_scripting() and _drops(self):
            output, h, c = _with_dropout(self, weft.lstm, input, [h, c])
        else:
            output, h, c = weft.lstm(input, [h, c], self._flat_weights, self.bias, self.num_layers, self.dropout,
                                     self.training, self.bidirectional, self.batch_first)  # fmt: skip
        if single:
            output, h, c = output.squeeze(batch_dim), h.squeeze(1), c.squeeze(1)
        return output, self.permute_hidden((h, c), None)


# ---- cells ------------------------------------------------------------------------------------------------------
def _check_cell_input(input: Tensor) -> None:
    if input.dim() != 1 and input.dim() != 2:
        raise ValueError(f"expected input of 1 or 2 dimensions, got {input.dim()}")


class RNNCellBase(Module):
    """One step: input[batch, input_size] or [input_size], with states [batch, hidden_size] or [hidden_size]."""

    __constants__ = ["input_size", "hidden_size", "bias"]
    input_size: int
    hidden_size: int
    bias: bool
    weight_ih: Tensor
    weight_hh: Tensor
    bias_ih: Optional[Tensor]
    bias_hh: Optional[Tensor]

    def __init__(self, input_size, hidden_size, bias, num_chunks, device=None, dtype=None):
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        rows = num_chunks * hidden_size
        self.weight_ih = empty(rows, input_size, dtype=dtype, device=device)
        self.weight_hh = empty(rows, hidden_size, dtype=dtype, device=device)
        self.register_parameter("bias_ih", empty(rows, dtype=dtype, device=device) if bias else None)
        self.register_parameter("bias_hh", empty(rows, dtype=dtype, device=device) if bias else None)
        self.reset_parameters()

    def reset_parameters(self):
        bound = 1 / math.sqrt(self.hidden_size) if self.hidden_size else 0.0
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    def extra_repr(self):
        text = f"{self.input_size}, {self.hidden_size}"
        text += f", bias={self.bias}" if self.bias is not True else ""
        nonlinearity = getattr(self, "nonlinearity", "tanh")
        return text + (f", nonlinearity={nonlinearity}" if nonlinearity != "tanh" else "")


class RNNCell(RNNCellBase):
    """A step of RNN. forward(input, h=None): h'."""

    __constants__ = ["input_size", "hidden_size", "bias", "nonlinearity"]
    nonlinearity: str

    def __init__(self, input_size, hidden_size, bias=True, nonlinearity="tanh", device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"RNNCell: nonlinearity must be 'tanh' or 'relu', got {nonlinearity!r}")
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Optional[Tensor] = None) -> Tensor:
        _check_cell_input(input)
        single = input.dim() == 1
        if single:
            input = input.unsqueeze(0)
        if hx is None:
            hx = weft.zeros([input.size(0), self.hidden_size], dtype=input.dtype, device=input.device)
        elif single:
            hx = hx.unsqueeze(0)
        if self.nonlinearity == "tanh":
            state = weft.rnn_tanh_cell(input, hx, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        else:
            state = weft.rnn_relu_cell(input, hx, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        if single:
            state = state.squeeze(0)
        return state


class GRUCell(RNNCellBase):
    """A step of GRU. forward(input, h=None): h'."""

    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Optional[Tensor] = None) -> Tensor:
        _check_cell_input(input)
        single = input.dim() == 1
        if single:
            input = input.unsqueeze(0)
        if hx is None:
            hx = weft.zeros([input.size(0), self.hidden_size], dtype=input.dtype, device=input.device)
        elif single:
            hx = hx.unsqueeze(0)
        state = weft.gru_cell(input, hx, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        if single:
            state = state.squeeze(0)
        return state


class LSTMCell(RNNCellBase):
    """A step of LSTM. forward(input, (h, c)=None): (h', c')."""

    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Tensor, hx: Optional[Tuple[Tensor, Tensor]] = None) -> Tuple[Tensor, Tensor]:
        _check_cell_input(input)
        single = input.dim() == 1
        if single:
            input = input.unsqueeze(0)
        if hx is None:
            h = weft.zeros([input.size(0), self.hidden_size], dtype=input.dtype, device=input.device)
            c = h
        else:
            h, c = hx
            if single:
                h, c = h.unsqueeze(0), c.unsqueeze(0)
        h, c = weft.lstm_cell(input, [h, c], self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        if single:
            h, c = h.squeeze(0), c.squeeze(0)
        return h, c
