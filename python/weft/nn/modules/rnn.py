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
        self._check_arguments()
        self._all_names = []  # a list of names for each layer and direction
        self._flat_weights = []
        for layer, direction in itertools.product(range(num_layers), range(self._directions())):
            self._add_layer(layer, "_reverse" if direction else "", device, dtype)
        self._tensors_replaced()
        self.reset_parameters()

    def _check_arguments(self):
        owner = type(self).__name__
        if self.mode not in _GATES:
            raise ValueError(f"{owner}: mode must be one of {', '.join(_GATES)}, got {self.mode!r}")
        if isinstance(self.dropout, bool) or not 0 <= self.dropout <= 1:
            raise ValueError(f"{owner}: dropout must be between 0 and 1, got {self.dropout}")
        for name in ("hidden_size", "num_layers"):
            value = getattr(self, name)
            if not isinstance(value, int):
                raise TypeError(f"{owner}: {name} must be an int, got {type(value).__name__}")
            if value <= 0:
                raise ValueError(f"{owner}: {name} must be positive, got {value}")
        if self.proj_size < 0 or self.proj_size >= self.hidden_size:
            raise ValueError(
                f"{owner}: proj_size must be at least 0 and less than hidden_size {self.hidden_size}, got {self.proj_size}"
            )
        if self.proj_size and self.mode != "LSTM":
            raise ValueError(f"{owner}: proj_size is for LSTM only")

    def _directions(self):
        return 2 if self.bidirectional else 1

    def _add_layer(self, layer, suffix, device, dtype):
        rows, state = _GATES[self.mode] * self.hidden_size, self.proj_size or self.hidden_size
        columns = self.input_size if layer == 0 else state * self._directions()
        shapes = {"weight_ih": (rows, columns), "weight_hh": (rows, state)}
        if self.bias:
            shapes.update(bias_ih=(rows,), bias_hh=(rows,))
        if self.proj_size:
            shapes["weight_hr"] = (self.proj_size, self.hidden_size)
        names = []
        for kind, shape in shapes.items():
            names.append(f"{kind}_l{layer}{suffix}")
            setattr(self, names[-1], empty(*shape, dtype=dtype, device=device))
        self._all_names.append(names)

    def reset_parameters(self):
        bound = 1 / math.sqrt(self.hidden_size)
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    @property
    def all_weights(self):
        """The parameters of each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_names]

    def flatten_parameters(self):
        """Nothing to do: the operators take parameters where they lie."""

    def _tensors_replaced(self):
        self._flat_weights = [self._parameters.get(name) for names in self._all_names for name in names]

    def __setattr__(self, name, value):
        super().__setattr__(name, value)
        if name.startswith(("weight_", "bias_")) and "_flat_weights" in self.__dict__:
            self._tensors_replaced()

    # ---- calls -------------------------------------------------------------------------------------------
    def _check_input(self, input: Tensor, packed: bool) -> None:
        if packed:
            if input.dim() != 2:
                raise ValueError(f"expected packed input of 2 dimensions, got {input.dim()}")
        elif input.dim() != 2 and input.dim() != 3:
            raise ValueError(f"expected input of 2 or 3 dimensions, got {input.dim()}")
        if input.size(-1) != self.input_size:
            raise RuntimeError(
                f"expected an input of size {self.input_size} in the last dimension, got {input.size(-1)}"
            )

    def _check_state(self, hidden: Tensor, batch: int, size: int, what: str) -> None:
        layers = self.num_layers * (2 if self.bidirectional else 1)
        if hidden.dim() != 3 or hidden.size(0) != layers or hidden.size(1) != batch or hidden.size(2) != size:
            raise RuntimeError(f"expected {what} of shape [{layers}, {batch}, {size}], got {hidden.shape}")

    def _zeros(self, input: Tensor, batch: int, size: int) -> Tensor:
        layers = self.num_layers * (2 if self.bidirectional else 1)
        return weft.zeros([layers, batch, size], dtype=input.dtype, device=input.device)

    def _drops(self):
        return self.training and self.dropout > 0 and self.num_layers > 1

    def _with_dropout(self, run, input, states, batch_sizes=None, batch_first=False):
        """Layer by layer, with dropout between them: (output, the state or states at the end)."""
        x = input.transpose(0, 1) if batch_first else input
        directions, count = self._directions(), len(self._flat_weights) // self.num_layers
        ends = [[] for _ in states]
        for layer in range(self.num_layers):
            own = [state[layer * directions : (layer + 1) * directions] for state in states]
            operands = [x, own if len(own) > 1 else own[0], self._flat_weights[layer * count : (layer + 1) * count],
                        self.bias, 1, 0.0, False, self.bidirectional]  # fmt: skip
            if batch_sizes is None:
                results = run(*operands, False)
            else:
                results = run(x, batch_sizes, *operands[1:])
            x = results[0]
            for i in range(len(states)):
                ends[i].append(results[i + 1])
            if layer + 1 < self.num_layers:
                x = _drawing.dropout(x, self.dropout, True)
        output = x.transpose(0, 1) if batch_first else x
        return (output, *(weft.cat(each) for each in ends))

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
            return self._forward_packed(input, hx)
        self._check_input(input, False)
        single = input.dim() == 2
        if single:
            input = input.unsqueeze(1)
            if hx is not None:
                hx = hx.unsqueeze(1)
        batch = input.size(0) if self.batch_first and not single else input.size(1)
        if hx is None:
            hx = self._zeros(input, batch, self.hidden_size)
        self._check_state(hx, batch, self.hidden_size, "a hidden state")
        if not _types.is_scripting() and self._drops():
            run = weft.rnn_tanh if self.mode == "RNN_TANH" else weft.rnn_relu
            output, hidden = self._with_dropout(run, input, [hx], None, self.batch_first and not single)
        elif self.mode == "RNN_TANH":
            output, hidden = weft.rnn_tanh(input, hx, self._flat_weights, self.bias, self.num_layers, self.dropout, self.training,
                                           self.bidirectional, self.batch_first and not single)  # fmt: skip
        else:
            output, hidden = weft.rnn_relu(input, hx, self._flat_weights, self.bias, self.num_layers, self.dropout, self.training,
                                           self.bidirectional, self.batch_first and not single)  # fmt: skip
        if single:
            output, hidden = output.squeeze(1), hidden.squeeze(1)
        return output, hidden

    def _forward_packed(self, input, hx):
        data, batch_sizes, sorted_indices, unsorted_indices = input
        self._check_input(data, True)
        batch = int(batch_sizes[0])
        hx = self._zeros(data, batch, self.hidden_size) if hx is None else _permuted(hx, sorted_indices)
        self._check_state(hx, batch, self.hidden_size, "a hidden state")
        run = weft.rnn_tanh_packed if self.mode == "RNN_TANH" else weft.rnn_relu_packed
        if self._drops():
            output, hidden = self._with_dropout(run, data, [hx], batch_sizes)
        else:
            output, hidden = run(data, batch_sizes, hx, self._flat_weights, self.bias, self.num_layers, self.dropout,
                                 self.training, self.bidirectional)  # fmt: skip
        return PackedSequence(output, batch_sizes, sorted_indices, unsorted_indices), _permuted(
            hidden, unsorted_indices
        )


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
            return self._forward_packed(input, hx)
        self._check_input(input, False)
        single = input.dim() == 2
        if single:
            input = input.unsqueeze(1)
            if hx is not None:
                hx = hx.unsqueeze(1)
        batch = input.size(0) if self.batch_first and not single else input.size(1)
        if hx is None:
            hx = self._zeros(input, batch, self.hidden_size)
        self._check_state(hx, batch, self.hidden_size, "a hidden state")
        if not _types.is_scripting() and self._drops():
            output, hidden = self._with_dropout(weft.gru, input, [hx], None, self.batch_first and not single)
        else:
            output, hidden = weft.gru(input, hx, self._flat_weights, self.bias, self.num_layers, self.dropout, self.training,
                                      self.bidirectional, self.batch_first and not single)  # fmt: skip
        if single:
            output, hidden = output.squeeze(1), hidden.squeeze(1)
        return output, hidden

    def _forward_packed(self, input, hx):
        data, batch_sizes, sorted_indices, unsorted_indices = input
        self._check_input(data, True)
        batch = int(batch_sizes[0])
        hx = self._zeros(data, batch, self.hidden_size) if hx is None else _permuted(hx, sorted_indices)
        self._check_state(hx, batch, self.hidden_size, "a hidden state")
        if self._drops():
            output, hidden = self._with_dropout(weft.gru_packed, data, [hx], batch_sizes)
        else:
            output, hidden = weft.gru_packed(data, batch_sizes, hx, self._flat_weights, self.bias, self.num_layers,
                                             self.dropout, self.training, self.bidirectional)  # fmt: skip
        return PackedSequence(output, batch_sizes, sorted_indices, unsorted_indices), _permuted(
            hidden, unsorted_indices
        )


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

    def forward(
        self, input: Tensor, hx: Optional[Tuple[Tensor, Tensor]] = None
    ) -> Tuple[Tensor, Tuple[Tensor, Tensor]]:
        if not _types.is_scripting() and isinstance(input, PackedSequence):
            return self._forward_packed(input, hx)
        self._check_input(input, False)
        single = input.dim() == 2
        size = self.proj_size if self.proj_size > 0 else self.hidden_size
        if single:
            input = input.unsqueeze(1)
        batch = input.size(0) if self.batch_first and not single else input.size(1)
        if hx is None:
            h, c = self._zeros(input, batch, size), self._zeros(input, batch, self.hidden_size)
        else:
            h, c = hx
            if single:
                h, c = h.unsqueeze(1), c.unsqueeze(1)
            self._check_state(h, batch, size, "a hidden state")
            self._check_state(c, batch, self.hidden_size, "a cell state")
        if not _types.is_scripting() and self._drops():
            output, h, c = self._with_dropout(weft.lstm, input, [h, c], None, self.batch_first and not single)
        else:
            output, h, c = weft.lstm(input, [h, c], self._flat_weights, self.bias, self.num_layers, self.dropout,
                                     self.training, self.bidirectional, self.batch_first and not single)  # fmt: skip
        if single:
            output, h, c = output.squeeze(1), h.squeeze(1), c.squeeze(1)
        return output, (h, c)

    def _forward_packed(self, input, hx):
        data, batch_sizes, sorted_indices, unsorted_indices = input
        self._check_input(data, True)
        batch, size = int(batch_sizes[0]), self.proj_size or self.hidden_size
        if hx is None:
            h, c = self._zeros(data, batch, size), self._zeros(data, batch, self.hidden_size)
        else:
            h, c = (_permuted(state, sorted_indices) for state in hx)
            self._check_state(h, batch, size, "a hidden state")
            self._check_state(c, batch, self.hidden_size, "a cell state")
        if self._drops():
            output, h, c = self._with_dropout(weft.lstm_packed, data, [h, c], batch_sizes)
        else:
            output, h, c = weft.lstm_packed(data, batch_sizes, [h, c], self._flat_weights, self.bias, self.num_layers,
                                            self.dropout, self.training, self.bidirectional)  # fmt: skip
        output = PackedSequence(output, batch_sizes, sorted_indices, unsorted_indices)
        return output, (_permuted(h, unsorted_indices), _permuted(c, unsorted_indices))


# ---- cells ------------------------------------------------------------------------------------------------------
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

    def _check(self, input: Tensor) -> None:
        if input.dim() != 1 and input.dim() != 2:
            raise ValueError(f"expected input of 1 or 2 dimensions, got {input.dim()}")

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
        self._check(input)
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
        self._check(input)
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
        self._check(input)
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
