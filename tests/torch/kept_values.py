"""Random numbers, and results of calls as JSON, kept by a Python that has PyTorch, and weft's compared with them."""

import base64
import io
import zipfile

import numpy


def numbers(torch, seed, *shape, scale=1.0):
    values = numpy.random.RandomState(seed).standard_normal(shape).astype("float32") * numpy.float32(scale)
    return torch.from_numpy(values)


def kept(value):
    """A result as JSON: tensors with their bytes."""
    if hasattr(value, "detach"):
        if value.is_quantized:
            scheme = str(value.qscheme())
            if scheme == "torch.per_tensor_affine":
                how = [value.q_scale(), value.q_zero_point()]
            else:
                how = [
                    kept(value.q_per_channel_scales()),
                    kept(value.q_per_channel_zero_points()),
                    value.q_per_channel_axis(),
                ]
            return {"quantized": str(value.dtype), "how": how, "integers": kept(value.int_repr())}
        array = numpy.ascontiguousarray(value.detach().numpy())
        return {
            "dtype": str(array.dtype),
            "shape": list(array.shape),
            "bytes": base64.b64encode(array.tobytes()).decode(),
        }
    if isinstance(value, (list, tuple)):
        return [kept(each) for each in value]
    return value


def shorter(archive):
    """The archive compressed, without the notes for debuggers."""
    buffer = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(archive)) as old,
        zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for entry in old.infolist():
            if not entry.filename.endswith(".debug_pkl"):
                new.writestr(entry.filename, old.read(entry))
    return buffer.getvalue()


def array(answer):
    values = numpy.frombuffer(base64.b64decode(answer["bytes"]), answer["dtype"])
    return values.reshape(answer["shape"])


def compare(torch, found, expected, where, floats=None):
    """Raises where a result is not the one kept; floating numbers may differ by `floats`, as assert_allclose takes it."""
    if isinstance(expected, dict) and "quantized" in expected:
        assert str(found.dtype) == expected["quantized"], where
        if found.qscheme() is torch.per_tensor_affine:
            assert [found.q_scale(), found.q_zero_point()] == expected["how"], where
        else:
            scales, zeros, axis = expected["how"]
            numpy.testing.assert_array_equal(
                numpy.asarray(found.q_per_channel_scales()), array(scales), err_msg=where
            )
            numpy.testing.assert_array_equal(
                numpy.asarray(found.q_per_channel_zero_points()), array(zeros), err_msg=where
            )
            assert found.q_per_channel_axis() == axis, where
        numpy.testing.assert_array_equal(
            numpy.asarray(found.int_repr()), array(expected["integers"]), err_msg=where
        )
    elif isinstance(expected, dict):
        values, found = array(expected), numpy.asarray(found)
        assert found.dtype == values.dtype and found.shape == values.shape, where
        if floats and values.dtype.kind == "f":
            numpy.testing.assert_allclose(found, values, **floats, err_msg=where)
        else:
            numpy.testing.assert_array_equal(found, values, err_msg=where)
    elif isinstance(expected, list):
        assert len(found) == len(expected), where
        for at, (one, answer) in enumerate(zip(found, expected)):
            compare(torch, one, answer, f"{where}[{at}]", floats)
    elif floats and isinstance(expected, float):
        numpy.testing.assert_allclose(found, expected, **floats, err_msg=where)
    else:
        assert found == expected, where
