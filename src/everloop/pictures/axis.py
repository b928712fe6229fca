"""An axis with round figures, grid lines and their labels."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil, floor, log10

from everloop.pictures.elements import line, words

_FAR = 1e12
_LARGE = ((1e9, "G"), (1e6, "M"), (1e3, "k"))
_UNITS = ((86400, "d"), (3600, "h"), (60, "min"))
_TIMES = (1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 10800, 21600, 43200, 86400)


def drawable(value: float | None) -> float | None:
    """The value, or None when it is missing or too large for any axis."""
    return value if value is not None and abs(value) < _FAR else None


@dataclass(frozen=True, slots=True)
class Axis:
    """A range of values with round ends."""

    low: float
    """Value at the beginning."""
    high: float
    """Value at the end, above `low`."""
    step: float
    """Distance between two labelled values."""

    @classmethod
    def over(cls, values: Iterable[float | None], *, most: int = 5, within: tuple[float, float] | None = None) -> Axis:
        """An axis that holds all values in at most `most` steps; `within` bounds it where the values keep to that."""
        known = [value for value in map(drawable, values) if value is not None] or [0.0, 1.0]
        low, high = min(known), max(known)
        if high - low < 1e-9 * max(1.0, abs(high)):
            low, high = low - max(0.05, abs(low) / 10), high + max(0.05, abs(high) / 10)
        step = _step((high - low) / most)
        axis = cls(floor(low / step + 1e-9) * step, ceil(high / step - 1e-9) * step, step)
        if within is None or low < within[0] - 0.1 or high > within[1] + 0.1:
            return axis
        return cls(max(axis.low, within[0]), min(axis.high, within[1]), step)

    @classmethod
    def of_time(cls, seconds: float, *, most: int = 4) -> Axis:
        """An axis from zero over a length of time, with steps of round seconds, minutes or hours."""
        least = seconds / most
        step = next((float(one) for one in _TIMES if one >= least), ceil(least / 86400) * 86400.0)
        return cls(0.0, step * max(1, ceil(seconds / step)), step)

    def share(self, value: float) -> float:
        """Where a value lies between the ends, 0 to 1."""
        return min(1.0, max(0.0, (value - self.low) / (self.high - self.low)))

    def ticks(self) -> list[float]:
        """Values with a label; zero is never written with a sign."""
        first = ceil(self.low / self.step - 1e-9)
        count = floor(self.high / self.step + 1e-9) - first
        return [(first + place) * self.step + 0.0 for place in range(count + 1)]

    def told(self, value: float, least: int = 0) -> str:
        """A value with as many digits as the steps need, `least` of them where they need any; thousands as k or M."""
        for size, unit in _LARGE:
            if self.step >= size / 10 and self.high >= 10 * size:
                return f"{value / size:g}{unit}".replace("-", "−") if value else "0"
        digits = max(0, -floor(log10(self.step) + 1e-9))
        digits = max(digits, least) if digits else 0
        return f"{value:.{digits}f}".replace("-", "−")

    def lasts(self, seconds: float) -> str:
        """A length of time in its largest unit; zero in the unit of the steps."""
        found = next((one for one in _UNITS if (seconds or self.step) >= one[0]), (1, "s"))
        return f"{seconds / found[0]:g} {found[1]}"


def _step(least: float) -> float:
    """The next of 1, 2, 5 times a power of ten."""
    power = 10.0 ** floor(log10(least))
    return next(size * power for size in (1, 2, 5, 10) if size * power >= least * (1 - 1e-9))


def upright(axis: Axis, top: float, bottom: float, name: str, sign: str = "") -> list[str]:
    """Grid lines with their values at the left and the axis' name above them; `sign`: of a currency."""
    drawn = [words(name, -50, top - 12, "quiet small")]
    for tick in axis.ticks():
        y = bottom - axis.share(tick) * (bottom - top)
        drawn.append(line("grid", "0", y, "100%", y))
        told = axis.told(tick, 2 if sign else 0)
        drawn.append(words(f"−{sign}{told[1:]}" if told.startswith("−") else sign + told, -8, y + 4, "quiet", "end"))
    return drawn


def tiers(count: int, room: float, share: float = 1.0) -> list[tuple[int, str]]:
    """Places that get a label with the class that shows it: more of them on wider pages, none touching another.

    `room`: pixels of a label; `share`: how much of the width the places lie on. The last place always has one.
    """
    steps = [1, 1, 1]
    for tier, width in reversed(list(enumerate((220, 450, 690)))):
        base = steps[tier + 1] if tier < 2 else 1
        steps[tier] = base * max(1, ceil(room * count / (width * share) / base))
    shown = []
    for place in range(count):
        fits = [place == count - 1 or (place % step == 0 and count - 1 - place >= step) for step in steps]
        if any(fits):
            shown.append((place, ("", "from-middle", "from-wide")[fits.index(True)]))
    return shown
