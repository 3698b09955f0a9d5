"""torch.ao.nn.quantized.dynamic: modules with weights of integers over floating tensors."""

from ..... import _absent
from .linear import Linear  # noqa: F401
from .rnn import GRU, LSTM, GRUCell, LSTMCell, RNNCell  # noqa: F401

__getattr__ = _absent.names(__name__)
