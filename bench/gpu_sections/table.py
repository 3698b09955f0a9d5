"""What both sides measured, as rows with shares, ratios and targets; text and JSON."""

WAYS = {"weft": "weft", "torch": "PyTorch", "torch_compile": "compiled", "numpy": "NumPy"}
PEAKS = {"copy": "B/s", "read": "B/s", "bfloat16 rate": "FLOP/s"}


def time_text(seconds):
    for unit, size in (("s", 1), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.4g} {unit}"
    return f"{seconds * 1e6:.3g} us"


class Table:
    def __init__(self, facts):
        self.facts = facts
        self.measured = {}  # (section, case) -> way -> what was told
        self.peaks = {}  # the best of both sides, bytes or operations a second

    def add(self, section, line):
        line = dict(line)
        case, way = line.pop("case"), line.pop("way")
        self.measured.setdefault((section, case), {})[way] = line
        if "peak" in line and "seconds" in line:
            rate = line.get("bytes", line.get("flops")) / line["seconds"]
            self.peaks[line["peak"]] = max(rate, self.peaks.get(line["peak"], 0))

    def rows(self):
        """Section by section, in the order in which they began."""
        sections = list(dict.fromkeys(section for section, _ in self.measured))
        rows = [self._row(section, case, ways) for (section, case), ways in self.measured.items()]
        return sorted(rows, key=lambda row: sections.index(row["section"]))

    def _row(self, section, case, ways):
        # Another case's times of PyTorch, where what it measured is the same.
        others = self.measured.get((section, ways.get("weft", {}).get("beside")), {})
        ways = {**{way: found for way, found in others.items() if way != "weft"}, **ways}
        row = {"section": section, "case": case, "ways": ways, "targets": []}
        own = ways.get("weft", {})
        seconds = own.get("seconds")
        if seconds is None:
            return row

        def target(what, least, value, most=False):
            met = None if value is None else value <= least if most else value >= least
            row["targets"].append({"what": what, "most" if most else "least": least, "value": value, "met": met})  # fmt: skip

        peak = self.peaks.get(own.get("share_of") or own.get("peak"))
        if peak:
            row["share"] = own.get("bytes", own.get("flops")) / peak / seconds
        if "least_share" in own:
            target(f"share of {own['share_of']}", own["least_share"], row.get("share"))
        for way, least in own.get("least_ratio", {}).items():
            other = ways.get(way, {}).get("seconds")
            target(f"times {WAYS[way]}", least, other and other / seconds)
        if "most_seconds" in own:
            target("seconds", own["most_seconds"], seconds, most=True)
        if "least_times" in own:
            target("times the first step", own["least_times"], own["times"])
        return row

    def json(self, **more):
        return {**self.facts, "peaks": self.peaks, **more, "rows": self.rows()}

    # ---- text --------------------------------------------------------------------------------------------------
    def text(self):
        rows = self.rows()
        width = max([len(row["case"]) for row in rows], default=0) + 2
        lines = [
            self._head(),
            f"{'':{width}}" + "".join(f"{name:>12}" for name in WAYS.values()) + "  share, targets",
        ]
        section = None
        for row in rows:
            if row["section"] != section:
                section = row["section"]
                lines.append(f"{section}")
            lines.append(self._line(row, width))
            lines += [
                f"{'':{width}}{WAYS[way]}: {found['error']}"
                for way, found in row["ways"].items()
                if "error" in found
            ]
        met = [target["met"] for row in rows for target in row["targets"]]
        errors = sum("error" in found for row in rows for found in row["ways"].values())
        lines.append(
            f"targets: {met.count(True)} met, {met.count(False)} not met, {met.count(None)} without what they compare "
            f"with; {errors} measurements failed"
        )
        return "\n".join(lines)

    def _head(self):
        rates = [f"{name} {rate / 1e12:.3g} T{PEAKS[name]}" for name, rate in self.peaks.items()]
        notes = [self.facts.get("note", ""), self.facts["torch"]]
        return "; ".join(part for part in [self.facts["device"], *rates, *notes] if part)

    def _line(self, row, width):
        def cell(way):
            found = row["ways"].get(way, {})
            return (
                time_text(found["seconds"]) if "seconds" in found else "failed" if "error" in found else "-"
            )

        own, notes = row["ways"].get("weft", {}), []
        if "tokens" in own and "seconds" in own:
            notes.append(f"{own['tokens'] / own['seconds']:.4g} tokens/s")
        if "iou" in own:
            notes.append(f"{own['times']:.2f} times the first, IoU {own['iou']:.3f}")
        is_target = {target["what"] for target in row["targets"]}
        if "share" in row and f"share of {own.get('share_of')}" not in is_target:
            notes.append(f"{row['share']:.1%} of {own.get('share_of') or own['peak']}")
        notes += [self._target(target) for target in row["targets"]]
        return (
            f"{'  ' + row['case']:{width}}"
            + "".join(f"{cell(way):>12}" for way in WAYS)
            + "  "
            + "; ".join(notes)
        )

    def _target(self, target):
        most = "most" in target
        bound = target["most"] if most else target["least"]
        what = target["what"]

        def number(value):
            if value is None:
                return "not measured"
            if what.startswith("share"):
                return f"{value:.1%}"
            return time_text(value) if what == "seconds" else f"{value:.3g}"

        said = {True: "met", False: "NOT MET", None: "?"}[target["met"]]
        name = what.replace("share of", "of") if what != "seconds" else "time"
        return f"{name} {number(target['value'])} ({'<=' if most else '>='} {number(bound)}: {said})"
