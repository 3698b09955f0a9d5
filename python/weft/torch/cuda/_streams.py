"""torch.cuda's streams and events. A device has one stream, to which all of its work goes in order."""

import weft
from weft import _C

NO_GPU = (
    "Found no NVIDIA driver on your system: weft.torch answers as PyTorch does on a machine without a GPU"
)


def device_count():
    """GPUs; 0 without a driver, or in a child of fork() whose parent has used it."""
    try:
        return _C._gpu.device_count()
    except RuntimeError:
        return 0


def require(name, index=0):
    """raises: RuntimeError where torch.cuda.`name` needs a device that is not there."""
    count = device_count()
    if count == 0:
        raise RuntimeError(f"torch.cuda.{name}: {NO_GPU}")
    if not 0 <= index < count:
        raise RuntimeError(
            f"torch.cuda.{name}: invalid device ordinal: expected 0 to {count - 1}, got {index}"
        )


def index_of(device=None):
    """The number of a device of torch.cuda: a device, its name, its number, or none for the current one."""
    if device is None:
        return 0
    device = weft.device(f"cuda:{device}" if isinstance(device, int) else device)
    if device.type != "cuda":
        raise ValueError(f"Expected a cuda device, but got: {device}")
    return device.index


class Stream:
    """The one stream of a device: every object of this class for a device names the same, so work of "two streams" is done
    one after the other. raises: RuntimeError without a GPU."""

    def __init__(self, device=None, priority=0, **kwargs):
        self._index = index_of(device)
        require("Stream", self._index)
        self.priority = 0

    @property
    def device(self):
        return weft.device("cuda", self._index)

    @property
    def device_index(self):
        return self._index

    @property
    def cuda_stream(self):
        """The driver's handle, as a number."""
        return _C._gpu.stream(self._index)

    stream_id = cuda_stream

    def query(self):
        """Whether all work is done."""
        return _C._gpu.Event(self._index).query()

    def synchronize(self):
        _C._gpu.synchronize(self._index)

    def record_event(self, event=None):
        event = Event() if event is None else event
        event.record(self)
        return event

    def wait_event(self, event):
        """What is given to the stream later waits for the event."""
        event.wait(self)

    def wait_stream(self, stream):
        self.wait_event(stream.record_event())

    def __eq__(self, other):
        return isinstance(other, Stream) and self._index == other._index

    def __hash__(self):
        return hash((self._index, "stream"))

    def __repr__(self):
        return f"<torch.cuda.Stream device={self.device} cuda_stream={self.cuda_stream:#x}>"


class ExternalStream(Stream):
    """raises: NotImplementedError; weft gives work to its own stream."""

    def __init__(self, stream_ptr, device=None, **kwargs):
        raise NotImplementedError(
            "torch.cuda.ExternalStream: weft gives all work of a device to one stream of its own"
        )


class StreamContext:
    """A `with` statement of a stream: there is one, which is the current one before, inside and after."""

    def __init__(self, stream=None):
        self.stream = stream

    def __enter__(self):
        return None

    def __exit__(self, *error):
        return False


class Event:
    """A point in the stream of a device. elapsed_time needs enable_timing=True of both."""

    def __init__(self, enable_timing=False, blocking=False, interprocess=False, external=False):
        if interprocess or external:
            raise NotImplementedError("torch.cuda.Event: there are no events of other processes or libraries")
        self._has_time = enable_timing
        self._event = None

    @property
    def device(self):
        return None if self._event is None else weft.device("cuda", self._event.device)

    @property
    def cuda_event(self):
        """The driver's handle, as a number; 0 before it is recorded."""
        return 0 if self._event is None else self._event.handle

    def record(self, stream=None):
        index = 0 if stream is None else stream.device_index
        require("Event.record", index)
        self._event = _C._gpu.Event(index)

    def wait(self, stream=None):
        index = 0 if stream is None else stream.device_index
        require("Event.wait", index)
        if self._event is not None:
            self._event.wait(index)

    def query(self):
        return self._event is None or self._event.query()

    def synchronize(self):
        require("Event.synchronize")
        if self._event is not None:
            self._event.synchronize()

    def elapsed_time(self, end_event):
        """Milliseconds from this event to `end_event`; both have passed."""
        require("Event.elapsed_time")
        if not (self._has_time and end_event._has_time):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if self._event is None or end_event._event is None:
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        if not (self.query() and end_event.query()):
            raise RuntimeError("Both events must be completed before calculating elapsed time.")
        return self._event.elapsed_ms(end_event._event)

    def __repr__(self):
        return (
            f"<torch.cuda.Event {self.cuda_event:#x}>" if self._event else "<torch.cuda.Event uninitialized>"
        )
