"""Device work that only lays data out anew."""

from collections.abc import Iterator

from workflow_src.captures.call_kinds import matching
from workflow_src.diagnosis.edit import Edit
from workflow_src.diagnosis.finding import Finding, found
from workflow_src.diagnosis.subject import NUMBER, Subject, rows_of

CONVERSION = r"(?i)nchwToNhwc|nhwcToNchw"
"""Kernels by which cuDNN lays images out anew for a convolution and back."""

APPLIED, GRADIENT = "GroupNormKernelImpl", "GroupNormBackwardKernelImpl"
"""Kernels that apply a norm over groups, and that give its input's gradient."""

COPY_OVER = {APPLIED: 1.0, GRADIENT: 2 / 3}
"""A copy's time over that of these kernels, by bytes: the one reads and writes an image as a copy
does, the other reads two and writes one."""

AROUND = 2
"""Copies around each norm over groups in channels_last, and as many around each gradient: PyTorch's
kernels of such norms know contiguous images alone, those of its batch norms both layouts."""

OUT_OF_LINE = 1.5
"""A layer copies more than its sisters if it does so much more of it than their median."""

LIKE = 3
"""At least so many layers are alike, or none is out of line."""


def convolution_layout(subject: Subject) -> Iterator[Finding]:
    """Kernels that turn images from one layout into the other around convolutions.

    Copies that norms over groups would need instead take the place of as much of them.
    """
    work = subject.work
    turned = work[matching(work["name"], CONVERSION)]
    come_ns = AROUND * sum(
        share * float(work.loc[matching(work["name"], name), "device_ns"].sum())
        for name, share in COPY_OVER.items()
    )
    if len(turned):
        stays = min(come_ns / float(turned["device_ns"].sum()), 1.0)
        # Of calls that launch other work, too, such as graphs, the work alone goes.
        gone = turned[turned["alone"] & (stays == 0)]
        left = Edit(work=rows_of(turned.drop(gone.index)), factor=stays)
        launches = Edit(gone["call"].to_numpy(), cost=0, drops=True)
        yield found(subject, "convolution_layout", turned, left, launches)


def layer_copies(subject: Subject) -> Iterator[Finding]:
    """Copies on the device in one layer that the others, alike but for their number, lack."""
    copies = subject.work[(subject.work["family"] == "copy") & (subject.work["kind"] == "kernel")]
    paths = subject.work["path"].drop_duplicates()
    layers = paths[paths.str.contains(NUMBER)]
    spent = copies.groupby("path")["device_ns"].sum().reindex(layers, fill_value=0)
    kinds = spent.groupby(spent.index.str.replace(NUMBER, "*", regex=True))
    usual = kinds.transform("median")
    more = spent[(kinds.transform("size") >= LIKE) & (spent > OUT_OF_LINE * usual)]
    for path in more.index:
        rows = copies[copies["path"] == path]
        edit = Edit(work=rows_of(rows), factor=float(usual[path] / more[path]))
        yield found(subject, "layer_copies", rows, edit)
