"""torch.utils.benchmark's names: Timer and what it gives."""

import statistics
import timeit


class Measurement:
    """Times of one statement, in seconds."""

    def __init__(self, number_per_run, raw_times, task_spec=None, metadata=None):
        self.number_per_run, self.raw_times, self.task_spec, self.metadata = (
            number_per_run,
            raw_times,
            task_spec,
            metadata,
        )

    @property
    def times(self):
        return [time / self.number_per_run for time in self.raw_times]

    @property
    def median(self):
        return statistics.median(self.times)

    @property
    def mean(self):
        return statistics.fmean(self.times)

    @property
    def iqr(self):
        if len(self.times) < 2:
            return 0.0
        quarters = statistics.quantiles(self.times, n=4, method="inclusive")
        return quarters[2] - quarters[0]

    @property
    def has_warnings(self):
        return False

    @property
    def title(self):
        return self.task_spec or ""

    def __repr__(self):
        return (
            f"<torch.utils.benchmark.Measurement>\n{self.title}\n  Median: {self.median * 1e6:.2f} us\n"
            f"  IQR:    {self.iqr * 1e6:.2f} us\n  {len(self.times)} measurements, {self.number_per_run} runs per measurement"
        )


class Timer:
    """Measures a statement with `globals`, on num_threads threads."""

    def __init__(
        self,
        stmt="pass",
        setup="pass",
        global_setup="",
        timer=timeit.default_timer,
        globals=None,
        label=None,
        sub_label=None,
        description=None,
        env=None,
        num_threads=1,
        language="python",
    ):
        self._timer = timeit.Timer(stmt, setup, timer, dict(globals or {}))
        self._title = " ".join(str(part) for part in (label or stmt, sub_label, description) if part)
        self._threads = num_threads

    def _run(self, number):
        import weft

        before = weft.get_num_threads()
        weft.set_num_threads(self._threads)
        try:
            return self._timer.timeit(number)
        finally:
            weft.set_num_threads(before)

    def timeit(self, number=1000000):
        self._run(max(number // 100, 2))
        return Measurement(number, [self._run(number)], self._title)

    def _number(self, min_run_time):
        number = 1
        while True:
            seconds = self._run(number)
            if seconds >= min(min_run_time / 1000, 1e-3) * 10 or number > 1_000_000:
                return number
            number *= 10

    def blocked_autorange(self, callback=None, min_run_time=0.2):
        number, times, total = self._number(min_run_time), [], 0.0
        while total < min_run_time:
            times.append(self._run(number))
            total += times[-1]
            if callback:
                callback(number, times[-1])
        return Measurement(number, times, self._title)

    def adaptive_autorange(self, threshold=0.1, *, min_run_time=0.01, max_run_time=10.0, callback=None):
        return self.blocked_autorange(callback, min_run_time)


class Compare:
    """A table of measurements."""

    def __init__(self, results):
        self._results = list(results)

    def extend_results(self, results):
        self._results.extend(results)

    def trim_significant_figures(self):
        pass

    def colorize(self, rowwise=False):
        pass

    def highlight_warnings(self):
        pass

    def __str__(self):
        return "\n".join(f"{result.title:<60} {result.median * 1e6:12.2f} us" for result in self._results)

    def print(self):
        print(str(self))
