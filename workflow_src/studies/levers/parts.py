"""Parts of a step's work, and how their uncertainties add up."""

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Part:
    """Some of a step's work: device time (ms), its standard uncertainty (ms), and launches.

    Launches of the optimizer are counted by their price (see Known).
    """

    ms: float = 0.0
    sd: float = 0.0
    calls: float = 0.0

    def __add__(self, other: "Part") -> "Part":
        """Both, their uncertainties being independent."""
        return Part(self.ms + other.ms, (self.sd**2 + other.sd**2) ** 0.5, self.calls + other.calls)

    def without(self, other: "Part") -> "Part":
        """What is left after taking `other` away; never less than nothing."""
        left = Part(max(0.0, self.ms - other.ms), 0.0, max(0.0, self.calls - other.calls))
        return replace(left, sd=(self.sd**2 + other.sd**2) ** 0.5)

    def times(self, factor: float, unsure: float = 0.0, calls: float = 1.0) -> "Part":
        """Scaled by a factor whose relative uncertainty is `unsure`; the launches by `calls`."""
        ms = self.ms * factor
        sd = ((self.sd * factor) ** 2 + (ms * unsure) ** 2) ** 0.5
        return Part(ms, sd, self.calls * calls)

    def fused(self, left: float, unsure: float) -> "Part":
        """As a chain that becomes one kernel: unsure by a share of what goes away."""
        sd = ((self.sd * left) ** 2 + (self.ms * (1 - left) * unsure) ** 2) ** 0.5
        return Part(self.ms * left, sd, self.calls * left)

    def with_fused(self, chain: "Part", left: float, unsure: float) -> "Part":
        """With a chain in it that becomes one kernel."""
        saved = chain.ms * (1 - left)
        sd = (self.sd**2 + (saved * unsure) ** 2) ** 0.5
        return Part(max(0.0, self.ms - saved), sd, max(0.0, self.calls - chain.calls * (1 - left)))


NOTHING = Part()
Parts = dict[str, Part]
"""Work by "{pass} {kind}", the pass being forward, backward or optimizer."""

KINDS = ("core", "products", "casts", "pointwise")
"""The kinds of forward and backward: attention's core, products elsewhere, casts, and the rest."""
