"""Programs that look at exceptions: their tracebacks, what was being handled, what has been handled, their text with frames. Each takes
an array and a list of events."""

import contextlib
import inspect
import logging
import sys
import traceback

import numpy as np
from frame_checks import chain, places
from program_list import programs_of


def fail(a):
    b = a + 1
    raise ValueError("failed")


def fail_deeper(a):
    c = a * 2
    return fail(c) + 1


class Custom(Exception):
    def __init__(self, text, code=0):
        super().__init__(text)
        self.code = code


class Bad:
    def __getitem__(self, key):
        raise KeyError(key)

    @property
    def prop(self):
        raise AttributeError("no prop")

    def __add__(self, other):
        raise TypeError("no add")

    def __bool__(self):
        raise ValueError("no truth")

    def __iter__(self):
        raise RuntimeError("no iteration")

    def __len__(self):
        raise OverflowError("no length")

    def __init__(self, fails=False):
        if fails:
            raise ValueError("no init")

    def __call__(self):
        raise ValueError("no call")

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        raise RuntimeError("no exit")


def traceback_is_there(x, events):
    try:
        raise ValueError("a")
    except ValueError as error:
        found = error.__traceback__ is not None
    return found, x + 1


def places_of_own(x, events):
    y = x + 1
    try:
        raise ValueError("a")
    except ValueError as error:
        return places(error.__traceback__), y


def places_of_helper(x, events):
    try:
        fail(x)
    except ValueError as error:
        return places(error.__traceback__), x + 1


def places_of_deeper(x, events):
    try:
        return fail_deeper(x)
    except ValueError as error:
        return places(error.__traceback__), x + 1


def format_exc(x, events):
    try:
        fail(x)
    except ValueError:
        return traceback.format_exc(), x + 1


def format_exception(x, events):
    try:
        fail_deeper(x)
    except ValueError as error:
        return "".join(traceback.format_exception(error)), x + 1


def print_exc(x, events):
    try:
        fail_deeper(x)
    except ValueError:
        traceback.print_exc()
    return x + 1


def exc_info(x, events):
    try:
        fail(x)
    except ValueError:
        kind, value, trace = sys.exc_info()
    return kind.__name__, str(value), places(trace), sys.exc_info() == (None, None, None), x + 1


def exc_info_inside(x, events):
    try:
        raise ValueError("1")
    except ValueError:
        y = x + 1
        kind, value, trace = sys.exc_info()
        return kind.__name__, trace.tb_lineno, y


def sys_exception(x, events):
    if sys.version_info < (3, 11):
        return None
    try:
        fail(x)
    except ValueError as error:
        return sys.exception() is error, places(sys.exception().__traceback__), x + 1


def locals_of_traceback(x, events):
    try:
        fail(x)
    except ValueError as error:
        trace = error.__traceback__
        while trace.tb_next:
            trace = trace.tb_next
        return sorted(trace.tb_frame.f_locals), trace.tb_frame.f_locals["b"], trace.tb_lineno


def own_locals_of_traceback(x, events):
    unused = x * 3
    try:
        fail(x)
    except ValueError as error:
        return sorted(error.__traceback__.tb_frame.f_locals), x + 1


def traceback_frame_is_own(x, events):
    try:
        fail(x)
    except ValueError as error:
        return error.__traceback__.tb_frame is sys._getframe(), x + 1


def frame_of_traceback(x, events):
    try:
        fail(x)
    except ValueError as error:
        frame = error.__traceback__.tb_next.tb_frame
        return frame.f_code is fail.__code__, frame.f_back is not None, frame.f_back.f_code.co_name, x + 1


def line_of_traceback(x, events):
    try:
        y = x + 1
        fail(y)
    except ValueError as error:
        return (
            error.__traceback__.tb_lineno,
            error.__traceback__.tb_next.tb_lineno,
            error.__traceback__.tb_lasti > 0,
        )


def context(x, events):
    try:
        try:
            raise KeyError("first")
        except KeyError:
            raise ValueError("second")
    except ValueError as error:
        return chain(error), x + 1


def cause(x, events):
    try:
        try:
            fail(x)
        except ValueError as error:
            raise RuntimeError("wrapped") from error
    except RuntimeError as error:
        return chain(error), x + 1


def cause_none(x, events):
    try:
        try:
            fail(x)
        except ValueError:
            raise RuntimeError("clean") from None
    except RuntimeError as error:
        return chain(error), x + 1


def reraised(x, events):
    try:
        try:
            fail(x)
        except ValueError:
            events.append("inner")
            raise
    except ValueError as error:
        return chain(error), x + 1


def reraised_by_name(x, events):
    try:
        try:
            fail(x)
        except ValueError as error:
            raise error
    except ValueError as error:
        return chain(error), x + 1


def with_traceback(x, events):
    try:
        try:
            fail(x)
        except ValueError as error:
            raise Custom("other", 3).with_traceback(error.__traceback__)
    except Custom as error:
        return chain(error), error.code, x + 1


def traceback_removed(x, events):
    try:
        fail(x)
    except ValueError as error:
        error.__traceback__ = None
        return error.__traceback__ is None, x + 1


def notes(x, events):
    try:
        fail(x)
    except ValueError as error:
        error.add_note("noted")
        return error.__notes__, traceback.format_exc(), x + 1


def in_finally(x, events):
    def inner(a):
        try:
            fail(a)
        finally:
            events.append(("finally", sys.exc_info()[0].__name__, places(sys.exc_info()[2])))

    try:
        inner(x)
    except ValueError as error:
        return places(error.__traceback__), x + 1


def finally_without_error(x, events):
    try:
        y = x + 1
    finally:
        events.append(sys.exc_info() == (None, None, None))
    return y


def nested_handled(x, events):
    try:
        raise KeyError("outer")
    except KeyError:
        try:
            raise ValueError("inner")
        except ValueError:
            events.append(sys.exc_info()[0].__name__)
        events.append(sys.exc_info()[0].__name__)
        events.append(places(sys.exc_info()[2]))
    events.append(sys.exc_info()[0])
    return x + 1


def handled_in_helper(x, events):
    def helper():
        return sys.exc_info()[0].__name__, places(sys.exc_info()[2])

    try:
        fail(x)
    except ValueError:
        return helper(), x + 1


def group(x, events):
    try:
        raise ExceptionGroup("many", [ValueError(1), TypeError(2)])
    except* ValueError as found:
        events.append([str(one) for one in found.exceptions])
        events.append(places(found.__traceback__))
    except* TypeError as found:
        events.append([str(one) for one in found.exceptions])
    return x + 1


def group_of_helper(x, events):
    try:
        fail(x)
    except* ValueError as found:
        events.append([type(one).__name__ for one in found.exceptions])
        events.append(places(found.exceptions[0].__traceback__))
    return x + 1


def from_generator(x, events):
    def numbers():
        yield 1
        fail(x)

    try:
        list(numbers())
    except ValueError as error:
        return places(error.__traceback__), x + 1


def caught_in_generator(x, events):
    def numbers():
        try:
            fail(x)
        except ValueError as error:
            yield places(error.__traceback__)

    return list(numbers()), x + 1


def thrown_into_generator(x, events):
    def numbers():
        try:
            yield 1
        except ValueError as error:
            yield [place[0] for place in places(error.__traceback__)], str(error)

    generator = numbers()
    next(generator)
    return generator.throw(ValueError("thrown")), x + 1


def next_at_end(x, events):
    def numbers():
        yield 1

    generator = numbers()
    next(generator)
    try:
        next(generator)
    except StopIteration as error:
        return places(error.__traceback__), x + 1


def yield_from(x, events):
    def inner():
        yield 1
        fail(x)

    def outer():
        yield from inner()

    try:
        list(outer())
    except ValueError as error:
        return places(error.__traceback__), x + 1


def from_key(x, events):
    table = {"a": 1}
    try:
        table["b"]
    except KeyError as error:
        return places(error.__traceback__), str(error), x + 1


def from_index(x, events):
    items = [1, 2]
    try:
        items[5]
    except IndexError as error:
        return places(error.__traceback__), str(error), x + 1


def from_attribute(x, events):
    try:
        x.nothing
    except AttributeError as error:
        return places(error.__traceback__), error.name, error.obj is x, x + 1


def from_name(x, events):
    try:
        undefined_name
    except NameError as error:
        return places(error.__traceback__), str(error), error.name, x + 1


def from_unbound(x, events):
    try:
        if x[0] > 100:
            y = 1
        return y
    except UnboundLocalError as error:
        return places(error.__traceback__), str(error), x + 1


def from_division(x, events):
    try:
        1 / 0
    except ZeroDivisionError as error:
        return places(error.__traceback__), str(error), x + 1


def from_conversion(x, events):
    try:
        int("nonsense")
    except ValueError as error:
        return places(error.__traceback__), str(error), x + 1


def from_call(x, events):
    def two(a, b):
        return a

    try:
        two(x)
    except TypeError as error:
        return places(error.__traceback__), str(error), x + 1


def from_unpacking(x, events):
    try:
        a, b = [1, 2, 3]
    except ValueError as error:
        return places(error.__traceback__), str(error), x + 1


def from_import(x, events):
    try:
        import no_such_module_at_all  # noqa: F401
    except ImportError as error:
        return [place[0] for place in places(error.__traceback__)][:1], error.name, x + 1


def from_numpy(x, events):
    try:
        x + np.ones(7)
    except ValueError as error:
        return places(error.__traceback__), str(error), x + 1


def from_numpy_python(x, events):
    try:
        np.linalg.inv(np.zeros((2, 2)))
    except np.linalg.LinAlgError as error:
        return [place[0] for place in places(error.__traceback__)], str(error), x + 1


def from_array_index(x, events):
    try:
        x[10]
    except IndexError as error:
        return places(error.__traceback__), str(error), x + 1


def from_truth(x, events):
    try:
        if x > 1:
            pass
    except ValueError as error:
        return places(error.__traceback__), str(error), x + 1


def from_assert(x, events):
    try:
        assert x[0] > 100, "too small"
    except AssertionError as error:
        return places(error.__traceback__), str(error), x + 1


def from_getitem(x, events):
    try:
        Bad()[3]
    except KeyError as error:
        return places(error.__traceback__), x + 1


def from_property(x, events):
    try:
        Bad().prop
    except AttributeError as error:
        return places(error.__traceback__), x + 1


def from_operator(x, events):
    try:
        Bad() + 1
    except TypeError as error:
        return places(error.__traceback__), str(error), x + 1


def from_bool(x, events):
    try:
        if Bad():
            pass
    except ValueError as error:
        return places(error.__traceback__), x + 1


def from_iter(x, events):
    try:
        for _ in Bad():
            pass
    except RuntimeError as error:
        return places(error.__traceback__), x + 1


def from_len(x, events):
    try:
        len(Bad())
    except OverflowError as error:
        return places(error.__traceback__), x + 1


def from_init(x, events):
    try:
        Bad(True)
    except ValueError as error:
        return places(error.__traceback__), x + 1


def from_instance_call(x, events):
    try:
        Bad()()
    except ValueError as error:
        return places(error.__traceback__), x + 1


def from_exit(x, events):
    try:
        with Bad():
            fail(x)
    except RuntimeError as error:
        return chain(error), x + 1


def seen_by_exit(x, events):
    class Watch:
        def __enter__(self):
            return self

        def __exit__(self, kind, value, trace):
            events.append((kind.__name__, str(value), places(trace), value.__traceback__ is trace))
            return True

    with Watch():
        fail(x)
    return x + 1


def exit_without_error(x, events):
    class Watch:
        def __enter__(self):
            return self

        def __exit__(self, *args):
            events.append(args)

    with Watch():
        y = x + 1
    return y


def contextmanager(x, events):
    @contextlib.contextmanager
    def watch():
        try:
            yield 1
        except ValueError as error:
            events.append([place[0] for place in places(error.__traceback__)])
            raise

    try:
        with watch():
            fail(x)
    except ValueError as error:
        return [place[0] for place in places(error.__traceback__)], x + 1


def suppressed(x, events):
    with contextlib.suppress(ValueError):
        fail(x)
    return x + 1, sys.exc_info()[0] is None


def exit_stack(x, events):
    with contextlib.ExitStack() as stack:
        stack.callback(events.append, "closed")
        stack.push(lambda kind, value, trace: events.append([p[0] for p in places(trace)]) or True)
        fail(x)
    return x + 1


def kept_after_handler(x, events):
    kept = None
    try:
        fail(x)
    except ValueError as error:
        kept = error
    y = x + 1
    return places(kept.__traceback__), y


def kept_in_list(x, events):
    for i in range(3):
        try:
            if i == 1:
                fail(x)
        except ValueError as error:
            events.append(error)
    return x + 1


def name_unbound_after(x, events):
    try:
        fail(x)
    except ValueError as error:
        pass
    try:
        error  # noqa: F821
    except UnboundLocalError as unbound:
        return str(unbound), x + 1


def raised_twice(x, events):
    error = ValueError("once")
    for _ in range(2):
        try:
            raise error
        except ValueError:
            pass
    return places(error.__traceback__), x + 1


def made_not_raised(x, events):
    error = ValueError("quiet")
    return error.__traceback__ is None, error.__context__ is None, x + 1


def raised_elsewhere(x, events):
    def make():
        return ValueError("made")

    def throw(error):
        raise error

    try:
        throw(make())
    except ValueError as error:
        return places(error.__traceback__), x + 1


def custom(x, events):
    try:
        raise Custom("custom", code=5)
    except Custom as error:
        return error.code, error.args, places(error.__traceback__), x + 1


def escapes(x, events):
    y = x + 1
    events.append(float(y.sum()))
    fail_deeper(y)


def escapes_own(x, events):
    y = x + 1
    raise Custom("own", 1)


def escapes_chained(x, events):
    try:
        fail(x)
    except ValueError as error:
        raise Custom("chained") from error


def escapes_context(x, events):
    try:
        fail(x)
    except ValueError:
        {}["missing"]


def escapes_reraised(x, events):
    try:
        fail(x)
    except ValueError:
        events.append("seen")
        raise


def escapes_finally(x, events):
    try:
        fail_deeper(x)
    finally:
        events.append("finally")


def escapes_loop(x, events):
    total = 0.0
    for i in range(6):
        total += x[i]
    return total


def escapes_native(x, events):
    total = 0
    for i in range(100):
        total += 1 // (i - 50)
    return total


def escapes_numpy(x, events):
    y = x * 2
    return y.reshape(3, 3)


def escapes_generator(x, events):
    def numbers():
        yield 1
        fail(x)

    return sum(numbers())


def escapes_comprehension(x, events):
    return [fail(x) for _ in range(2)]


def escapes_lambda(x, events):
    return (lambda a: fail(a))(x)


def escapes_multi_line(x, events):
    return np.add(
        x,
        fail(
            x,
        ),
    )


def escapes_stop_iteration(x, events):
    raise StopIteration(3)


def escapes_exit(x, events):
    sys.exit("done")


def escapes_keyboard(x, events):
    y = x + 1
    raise KeyboardInterrupt


def escapes_with(x, events):
    class Watch:
        def __enter__(self):
            return self

        def __exit__(self, kind, value, trace):
            events.append(places(trace))

    with Watch():
        fail(x)


def escapes_wrong_raise(x, events):
    raise 3  # noqa: B016


def escapes_recursion(x, events):
    def down(n):
        if n == 0:
            fail(x)
        return down(n - 1)

    return down(5)


def escapes_method(x, events):
    class Thing:
        def run(self, a):
            return self.step(a + 1)

        def step(self, a):
            raise ValueError("step")

    return Thing().run(x)


def frame_locals_escape(x, events):
    secret = x * 3
    fail(secret)


def seen_outside(x, events):
    try:
        frame_locals_escape(x, events)
    except ValueError as error:
        frame = error.__traceback__.tb_next.tb_frame
        return sorted(frame.f_locals), frame.f_locals["secret"]


def retry(x, events):
    attempts = 0
    while True:
        try:
            attempts += 1
            if attempts < 3:
                fail(x)
            break
        except ValueError as error:
            events.append((attempts, places(error.__traceback__)))
    return x * attempts


def logged_retry(x, events):
    for attempt in range(3):
        try:
            if attempt < 2:
                fail_deeper(x)
            return x + attempt
        except ValueError:
            logging.getLogger("retry").exception("attempt %d", attempt)


def extract_tb(x, events):
    try:
        fail_deeper(x)
    except ValueError as error:
        return [(one.name, one.lineno, one.line) for one in traceback.extract_tb(error.__traceback__)], x + 1


def walk_tb(x, events):
    try:
        fail_deeper(x)
    except ValueError as error:
        return [(f.f_code.co_name, line) for f, line in traceback.walk_tb(error.__traceback__)], x + 1


def inspect_trace(x, events):
    try:
        fail_deeper(x)
    except ValueError:
        return [(one.function, one.lineno) for one in inspect.trace()], x + 1


def inner_frames(x, events):
    try:
        fail_deeper(x)
    except ValueError as error:
        return [(one.function, one.lineno) for one in inspect.getinnerframes(error.__traceback__)], x + 1


def captured_locals(x, events):
    try:
        fail(x.sum())
    except ValueError as error:
        text = traceback.TracebackException.from_exception(error, capture_locals=True)
        return sorted(text.stack[-1].locals), text.stack[-1].name, x + 1


def cleared_frames(x, events):
    try:
        fail(x)
    except ValueError as error:
        traceback.clear_frames(error.__traceback__.tb_next)
        return sorted(error.__traceback__.tb_next.tb_frame.f_locals), x + 1


def error_returned(x, events):
    try:
        fail_deeper(x)
    except ValueError as error:
        return error


def error_from_break(x, events):
    y = x + 1
    print("before")
    try:
        z = y * 2
        print("inside")
        fail(z)
    except ValueError as error:
        print("caught", error)
        return chain(error), y


def break_in_handler(x, events):
    try:
        fail_deeper(x)
    except ValueError as error:
        print("caught", error)
        first = places(error.__traceback__)
    return first, x + 1


def conditional_handler(x, events):
    for value in (0, 1, 2):
        try:
            if value == 0:
                raise KeyError("k")
            if value == 1:
                fail(x)
            events.append("no error")
        except KeyError as error:
            events.append(("key", places(error.__traceback__)))
        except ValueError as error:
            events.append(("value", places(error.__traceback__)))
        else:
            events.append("else")
        finally:
            events.append("finally")
    return x + 1


def in_loop_over_numbers(x, events):
    for i in range(60):
        try:
            1 // (i - 25)
        except ZeroDivisionError as error:
            events.append((i, places(error.__traceback__)))
    return x + 1


def in_loop_over_array(x, events):
    total = 0.0
    for i in range(6):
        try:
            total += x[i]
        except IndexError as error:
            events.append((i, places(error.__traceback__), str(error)))
    return total


def index_of_array(x, events):
    at = np.array([0, 7])
    try:
        return x[at] + 1
    except IndexError as error:
        return places(error.__traceback__), str(error)


def index_in_helper(x, events):
    def take(a, at):
        b = a * 2
        return b[at]

    try:
        return take(x, np.array([0, 7]))
    except IndexError as error:
        return places(error.__traceback__), str(error)


def floating_point_error(x, events):
    def divide(a):
        return 1 / (a - a)

    with np.errstate(all="raise"):
        try:
            return divide(x)
        except FloatingPointError as error:
            return places(error.__traceback__), str(error)


def matrix_error(x, events):
    try:
        np.linalg.cholesky(-np.eye(2) * x[0])
    except np.linalg.LinAlgError as error:
        return [place[0] for place in places(error.__traceback__)], str(error)


def shapes_in_helper(x, events):
    def add(a, b):
        return a + b

    def outer(a):
        return add(a, np.ones((3, 3)))

    try:
        outer(x)
    except ValueError as error:
        return places(error.__traceback__), str(error)


def assert_in_helper(x, events):
    def check(a):
        assert a.ndim == 2, f"ndim {a.ndim}"
        return a

    try:
        check(x)
    except AssertionError as error:
        return places(error.__traceback__), str(error)


def finally_replaces(x, events):
    def inner():
        try:
            fail(x)
        finally:
            raise KeyError("replaced")

    try:
        inner()
    except KeyError as error:
        return chain(error), x + 1


def finally_swallows(x, events):
    def inner():
        try:
            fail(x)
        finally:
            events.append(sys.exc_info()[0].__name__)
            return 7  # noqa: B012

    return inner(), sys.exc_info()[0] is None, x + 1


def left_by_break(x, events):
    for i in range(3):
        try:
            fail(x)
        except ValueError as error:
            events.append(places(error.__traceback__))
            break
    return i, sys.exc_info()[0] is None, x + 1


def left_by_continue(x, events):
    for i in range(3):
        try:
            if i == 1:
                continue
            fail(x)
        except ValueError:
            events.append(sys.exc_info()[2].tb_lineno)
            continue
    return sys.exc_info()[0] is None, x + 1


def left_by_return(x, events):
    def inner():
        try:
            fail(x)
        except ValueError:
            return sys.exc_info()[1].args

    return inner(), sys.exc_info()[0] is None, x + 1


def from_class(x, events):
    try:
        raise RuntimeError from KeyError
    except RuntimeError as error:
        return chain(error), x + 1


def several_classes(x, events):
    for kind in (KeyError, IndexError, ValueError):
        try:
            raise kind("text")
        except (KeyError, IndexError) as error:
            events.append((type(error).__name__, places(error.__traceback__)))
        except Exception as error:
            events.append(("other", places(error.__traceback__)))
    return x + 1


def handled_after_break(x, events):
    def report():
        print("reporting")
        return sys.exc_info()[1].args, places(sys.exc_info()[2])

    try:
        fail_deeper(x)
    except ValueError:
        y = x + 1
        print("handling")
        return report(), y


def context_after_break(x, events):
    try:
        try:
            fail(x)
        except ValueError:
            print("handling")
            raise KeyError("second")
    except KeyError as error:
        return chain(error), x + 1


def handled_in_generator(x, events):
    def numbers():
        try:
            fail(x)
        except ValueError:
            yield sys.exc_info()[0].__name__
            yield sys.exc_info()[0].__name__
        yield sys.exc_info()[0]

    return list(numbers()), sys.exc_info()[0] is None, x + 1


def generator_sees_handled(x, events):
    def numbers():
        yield sys.exc_info()[0]

    try:
        fail(x)
    except ValueError:
        return [one.__name__ for one in numbers()], x + 1


def from_callback(x, events):
    def key(value):
        if value == 2:
            fail(x)
        return value

    try:
        sorted([1, 2, 3], key=key)
    except ValueError as error:
        return places(error.__traceback__), x + 1


def from_map(x, events):
    try:
        list(map(fail, [x]))
    except ValueError as error:
        return places(error.__traceback__), x + 1


def from_reduce(x, events):
    import functools

    def add(a, b):
        return fail(a)

    try:
        functools.reduce(add, [x, x])
    except ValueError as error:
        return places(error.__traceback__), x + 1


def from_max_key(x, events):
    try:
        max([1, 2], key=lambda one: fail(x))
    except ValueError as error:
        return places(error.__traceback__), x + 1


def from_comprehension(x, events):
    try:
        return [fail(x) for _ in range(2)]
    except ValueError as error:
        return places(error.__traceback__), x + 1


def from_class_body(x, events):
    try:

        class Local:
            value = fail(x)

    except ValueError as error:
        return places(error.__traceback__), x + 1


def from_default(x, events):
    try:

        def local(a=fail(x)):
            return a

    except ValueError as error:
        return places(error.__traceback__), x + 1


def from_decorator(x, events):
    def decorate(function):
        raise TypeError("not decorated")

    try:

        @decorate
        def local():
            return 1

    except TypeError as error:
        return places(error.__traceback__), x + 1


def from_missing_import(x, events):
    try:
        from math import nothing_there  # noqa: F401
    except ImportError as error:
        return places(error.__traceback__), str(error), error.name, x + 1


def from_set_item(x, events):
    try:
        x[0] = "text"
    except ValueError as error:
        return places(error.__traceback__), str(error), x + 1


def from_set_attribute(x, events):
    try:
        x.shape = (3, 3)
    except ValueError as error:
        return places(error.__traceback__), str(error), x + 1


def from_tuple_item(x, events):
    pair = (1, 2)
    try:
        pair[0] = 3
    except TypeError as error:
        return places(error.__traceback__), str(error), x + 1


def from_delete(x, events):
    try:
        del x.nothing
    except AttributeError as error:
        return places(error.__traceback__), x + 1


def from_iteration_of_number(x, events):
    try:
        for _ in 3:
            pass
    except TypeError as error:
        return places(error.__traceback__), str(error), x + 1


def from_calling_number(x, events):
    try:
        x.size()
    except TypeError as error:
        return places(error.__traceback__), str(error), x + 1


def from_star_arguments(x, events):
    def two(a, b):
        return a

    try:
        two(*[1, 2, 3])
    except TypeError as error:
        return places(error.__traceback__), str(error), x + 1


def from_match(x, events):
    try:
        match {"a": 1}:
            case {"a": 2}:
                pass
            case _:
                fail(x)
    except ValueError as error:
        return places(error.__traceback__), x + 1


def from_format(x, events):
    try:
        f"{x:nonsense}"
    except (TypeError, ValueError) as error:
        return places(error.__traceback__), str(error), x + 1


def from_walrus_condition(x, events):
    try:
        if (y := x + np.ones(3)) is not None:
            return y
    except ValueError as error:
        return places(error.__traceback__), x + 1


def group_of_groups(x, events):
    try:
        raise ExceptionGroup("outer", [ValueError(1), ExceptionGroup("inner", [KeyError(2), ValueError(3)])])
    except* ValueError as found:
        events.append((len(found.exceptions), places(found.__traceback__)))
    except* KeyError as found:
        events.append((len(found.exceptions), places(found.__traceback__)))
    return x + 1


def group_that_escapes(x, events):
    try:
        raise ExceptionGroup("many", [ValueError(1), KeyError(2)])
    except* ValueError:
        events.append("value")


def warning_as_exception(x, events):
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return 1 / (x - x)
        except RuntimeWarning as error:
            return places(error.__traceback__), str(error)


def exception_hook_text(x, events):
    try:
        fail_deeper(x)
    except ValueError:
        sys.excepthook(*sys.exc_info())
    return x + 1


def stack_of_traceback(x, events):
    try:
        fail_deeper(x)
    except ValueError as error:
        names, frame = [], error.__traceback__.tb_frame
        while frame and frame.f_code.co_name != "observed":
            names.append((frame.f_code.co_name, frame.f_lineno))
            frame = frame.f_back
        return names, x + 1


def innermost_back(x, events):
    try:
        fail_deeper(x)
    except ValueError as error:
        trace = error.__traceback__
        while trace.tb_next:
            trace = trace.tb_next
        names, frame = [], trace.tb_frame
        while frame and frame.f_code.co_name != "observed":
            names.append(frame.f_code.co_name)
            frame = frame.f_back
        return names, x + 1


def new_traceback(x, events):
    import types

    try:
        fail(x)
    except ValueError as error:
        trace = error.__traceback__
        made = types.TracebackType(None, trace.tb_frame, trace.tb_lasti, trace.tb_lineno)
        return made.tb_lineno, error.with_traceback(made).__traceback__ is made, x + 1


def copied_exception(x, events):
    import copy
    import pickle

    try:
        fail(x)
    except ValueError as error:
        return copy.copy(error).__traceback__ is None, pickle.loads(pickle.dumps(error)).args, x + 1


def comparing_tracebacks(x, events):
    kept = []
    for _ in range(2):
        try:
            fail(x)
        except ValueError as error:
            kept.append(error)
    first, second = kept
    return first.__traceback__ is second.__traceback__, first is second, places(second.__traceback__), x + 1


def long_loop_after(x, events):
    try:
        fail(x)
    except ValueError as error:
        kept = error
    total = 0.0
    for i in range(200):
        total += i * x[i % 4]
    return total, places(kept.__traceback__)


PROGRAMS = programs_of(globals())
