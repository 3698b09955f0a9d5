"""Recurrent networks and cells with weights of int8 or float16."""

import weft
import weft.torch as torch
from weft import nn
from weft.nn.utils.rnn import PackedSequence
from weft.ops import aten as _aten
from weft.ops import quantized as _ops

from .._weights import quantize_weight

_GATES = {"LSTM": 4, "GRU": 3}


def pack_weight_bias(qweight, bias, dtype):
    """The weight and bias for products: of int8, or float16."""
    prepack = _ops.linear_prepack if dtype == torch.qint8 else _ops.linear_prepack_fp16
    return prepack(qweight, bias)


def _weight_observer(mod):
    from weft.torch.ao.quantization.qconfig import default_dynamic_qconfig

    qconfig = getattr(mod, "qconfig", None)
    return (qconfig if qconfig is not None and qconfig.weight is not None else default_dynamic_qconfig).weight


def _quantized(weight, make_observer, dtype):
    if dtype != torch.qint8:
        return weight.detach().to(weft.float32)
    observer = make_observer()
    observer(weight)
    return quantize_weight(weight.to(weft.float32), observer)


def _check_dtype(dtype):
    if dtype not in (torch.qint8, torch.float16):
        raise RuntimeError(f"Unsupported dtype for dynamic RNN quantization: {dtype}")


class PackedParameter(nn.Module):
    """The weights of one layer and direction."""

    def __init__(self, param):
        super().__init__()
        self.param = param

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "param"] = self.param

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, *args):
        self.param = state_dict[prefix + "param"]
        super()._load_from_state_dict(state_dict, prefix, local_metadata, False, *args)


class RNNBase(nn.Module):
    """What LSTM and GRU have in common."""

    _FLOAT_MODULE = nn.RNNBase
    _version = 2

    def __init__(
        self,
        mode,
        input_size,
        hidden_size,
        num_layers=1,
        bias=True,
        batch_first=False,
        dropout=0.0,
        bidirectional=False,
        dtype=torch.qint8,
    ):
        super().__init__()
        if mode not in _GATES:
            raise ValueError("Unrecognized RNN mode: " + mode)
        _check_dtype(dtype)
        self.mode, self.input_size, self.hidden_size, self.num_layers = (
            mode,
            input_size,
            hidden_size,
            num_layers,
        )
        self.bias, self.batch_first, self.dropout = bias, batch_first, float(dropout)
        self.bidirectional, self.dtype, self.version, self.training = bidirectional, dtype, 2, False
        self._all_weight_values = nn.ModuleList()

    def _get_name(self):
        return f"DynamicQuantized{self.mode}"

    def extra_repr(self):
        text = f"{self.input_size}, {self.hidden_size}"
        usual = {"num_layers": 1, "bias": True, "batch_first": False, "dropout": 0, "bidirectional": False}
        return text + "".join(
            f", {name}={getattr(self, name)}" for name, value in usual.items() if getattr(self, name) != value
        )

    def __repr__(self):
        return f"{self._get_name()}({self.extra_repr()})"

    def _set_weights(self, mod, make_observer):
        cells = []
        for layer in range(self.num_layers):
            for suffix in ("", "_reverse")[: 2 if self.bidirectional else 1]:
                weights = [getattr(mod, f"weight_{name}_l{layer}{suffix}") for name in ("ih", "hh")]
                biases = [
                    getattr(mod, f"bias_{name}_l{layer}{suffix}")
                    if self.bias
                    else weft.zeros([_GATES[self.mode] * self.hidden_size])
                    for name in ("ih", "hh")
                ]
                packed = [
                    pack_weight_bias(_quantized(weight, make_observer, self.dtype), bias, self.dtype)
                    for weight, bias in zip(weights, biases)
                ]
                if self.dtype == torch.qint8:
                    cell = _ops.make_quantized_cell_params_dynamic(*packed, *biases, True)
                else:
                    cell = _ops.make_quantized_cell_params_fp16(*packed)
                cells.append(PackedParameter(cell))
        self._all_weight_values = nn.ModuleList(cells)

    @classmethod
    def from_float(cls, mod, use_precomputed_fake_quant=False):
        """Of a float module; its qconfig, if it has one, says how weights are quantized."""
        if type(mod) is not cls._FLOAT_MODULE:
            raise AssertionError(
                f"nn.quantized.dynamic.{cls.__name__}.from_float only works for {cls._FLOAT_MODULE}"
            )
        if not hasattr(mod, "qconfig"):
            raise AssertionError("Input float module must have qconfig defined")
        make_observer = _weight_observer(mod)
        dtype = make_observer().dtype
        made = cls(
            mod.input_size,
            mod.hidden_size,
            mod.num_layers,
            mod.bias,
            mod.batch_first,
            mod.dropout,
            mod.bidirectional,
            dtype,
        )
        made._set_weights(mod, make_observer)
        return made

    def _check_input(self, input, batch_sizes):
        expected = 2 if batch_sizes is not None else 3
        if input.ndim != expected:
            raise RuntimeError(f"input must have {expected} dimensions, got {input.ndim}")
        if self.input_size != input.shape[-1]:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.shape[-1]}"
            )

    def _start(self, input, batch_sizes, hx, sorted_indices):
        """The states as a tuple, zeros where none are given."""
        batch = int(batch_sizes[0]) if batch_sizes is not None else input.shape[0 if self.batch_first else 1]
        shape = (self.num_layers * (2 if self.bidirectional else 1), batch, self.hidden_size)
        count = 2 if self.mode == "LSTM" else 1
        if hx is None:
            return (weft.zeros(shape, dtype=input.dtype),) * count
        states = tuple(hx) if count == 2 else (hx,)
        if sorted_indices is not None:
            states = tuple(torch.index_select(each, 1, sorted_indices) for each in states)
        for state in states:
            if tuple(state.shape) != shape:
                raise RuntimeError(f"Expected hidden size {shape}, got {list(state.shape)}")
        return states

    def forward(self, input, hx=None):
        packed = input if isinstance(input, PackedSequence) else None
        data, sizes, order, back = packed if packed is not None else (input, None, None, None)
        self._check_input(data, sizes)
        states = self._start(data, sizes, hx, order)
        cells = [each.param for each in self._all_weight_values]
        where = (data,) if sizes is None else (data, sizes)
        how = [self.bias, self.num_layers, self.dropout, self.training, self.bidirectional]
        how += [] if packed is not None else [self.batch_first]
        if self.mode == "LSTM":
            output, *last = _aten.quantized_lstm(
                *where, list(states), cells, *how, dtype=self.dtype, use_dynamic=True
            )
        else:
            output, *last = _aten.quantized_gru(*where, states[0], cells, *how)
        if back is not None:
            last = [torch.index_select(each, 1, back) for each in last]
        result = output if packed is None else PackedSequence(output, sizes, order, back)
        return result, tuple(last) if self.mode == "LSTM" else last[0]


class LSTM(RNNBase):
    """torch.nn.LSTM with quantized weights."""

    _FLOAT_MODULE = nn.LSTM

    def __init__(self, *args, **kwargs):
        super().__init__("LSTM", *args, **kwargs)


class GRU(RNNBase):
    """torch.nn.GRU with quantized weights."""

    _FLOAT_MODULE = nn.GRU

    def __init__(self, *args, **kwargs):
        super().__init__("GRU", *args, **kwargs)


class RNNCellBase(nn.Module):
    """What the cells have in common."""

    _FLOAT_MODULE = nn.Module

    def __init__(self, input_size, hidden_size, bias=True, num_chunks=4, dtype=torch.qint8):
        super().__init__()
        _check_dtype(dtype)
        self.input_size, self.hidden_size, self.bias, self.weight_dtype = input_size, hidden_size, bias, dtype
        zeros = weft.zeros([num_chunks * hidden_size])
        self.register_buffer("bias_ih", zeros if bias else None)
        self.register_buffer("bias_hh", zeros.clone() if bias else None)
        self._packed_weight_ih = self._packed_weight_hh = None

    def _get_name(self):
        return f"DynamicQuantized{type(self).__name__}"

    def extra_repr(self):
        return f"{self.input_size}, {self.hidden_size}" + ("" if self.bias else f", bias={self.bias}")

    def _start(self, input, hx):
        if input.shape[1] != self.input_size:
            raise RuntimeError(
                f"input has inconsistent input_size: got {input.shape[1]}, expected {self.input_size}"
            )
        return weft.zeros([input.shape[0], self.hidden_size], dtype=input.dtype) if hx is None else hx

    def _step(self, name, input, hx):
        zeros = self.bias_ih if self.bias else weft.zeros([0])
        return getattr(_ops, f"quantized_{name}_cell_dynamic")(
            input,
            hx,
            self._packed_weight_ih,
            self._packed_weight_hh,
            zeros,
            self.bias_hh if self.bias else zeros,
        )

    @classmethod
    def from_float(cls, mod, use_precomputed_fake_quant=False):
        """Of a float cell with a qconfig."""
        if type(mod) is not cls._FLOAT_MODULE:
            raise AssertionError(
                f"nn.quantized.dynamic.{cls.__name__}.from_float only works for {cls._FLOAT_MODULE}"
            )
        if not hasattr(mod, "qconfig"):
            raise AssertionError("Input float module must have qconfig defined")
        make_observer = _weight_observer(mod)
        dtype = make_observer().dtype
        made = cls(mod.input_size, mod.hidden_size, bias=mod.bias, dtype=dtype)
        if hasattr(mod, "nonlinearity"):
            made.nonlinearity = mod.nonlinearity
        made.bias_ih, made.bias_hh = mod.bias_ih, mod.bias_hh
        for name in ("ih", "hh"):
            weight = _quantized(getattr(mod, f"weight_{name}"), make_observer, dtype)
            setattr(
                made, f"_packed_weight_{name}", pack_weight_bias(weight, getattr(mod, f"bias_{name}"), dtype)
            )
        return made


class RNNCell(RNNCellBase):
    """torch.nn.RNNCell with quantized weights."""

    _FLOAT_MODULE = nn.RNNCell

    def __init__(self, input_size, hidden_size, bias=True, nonlinearity="tanh", dtype=torch.qint8):
        super().__init__(input_size, hidden_size, bias, num_chunks=1, dtype=dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input, hx=None):
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return self._step(f"rnn_{self.nonlinearity}", input, self._start(input, hx))


class LSTMCell(RNNCellBase):
    """torch.nn.LSTMCell with quantized weights."""

    _FLOAT_MODULE = nn.LSTMCell

    def forward(self, input, hx=None):
        states = [self._start(input, each) for each in ((None, None) if hx is None else hx)]
        return self._step("lstm", input, states)


class GRUCell(RNNCellBase):
    """torch.nn.GRUCell with quantized weights."""

    _FLOAT_MODULE = nn.GRUCell

    def __init__(self, input_size, hidden_size, bias=True, dtype=torch.qint8):
        super().__init__(input_size, hidden_size, bias, num_chunks=3, dtype=dtype)

    def forward(self, input, hx=None):
        return self._step("gru", input, self._start(input, hx))
