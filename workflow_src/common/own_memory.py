"""The memory that this process may take: what is available, and a limit that the kernel keeps.

RLIMIT_DATA counts what is mapped to write to, as VmData does. RLIMIT_AS would also count address
space that is only reserved, such as each thread's heap.
"""

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def at_most_bytes(more: int) -> Iterator[None]:
    """Limit what this process maps inside to `more` bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    wanted = _kib(Path("/proc/self/status"), "VmData") * 1024 + more
    least = min(limit for limit in (soft, wanted) if limit != resource.RLIM_INFINITY)
    resource.setrlimit(resource.RLIMIT_DATA, (least, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def _kib(file: Path, key: str) -> int:
    lines = file.read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{key}:"))


def available_bytes(root: Path = Path("/")) -> int:
    """Bytes that can be allocated without swapping, within every control group's limit.

    `root` has proc and sys.
    """
    free = _kib(root / "proc/meminfo", "MemAvailable") * 1024
    return max(0, min([free, *_left_in_control_groups(root)]))


V1 = ("memory.limit_in_bytes", "memory.usage_in_bytes", "memory.stat", "total_inactive_file")
V2 = ("memory.max", "memory.current", "memory.stat", "inactive_file")
"""Files with the limit and the use of a control group, and what of the use is cache, by version."""


def _left_in_control_groups(root: Path) -> Iterator[int]:
    mount = root / "sys/fs/cgroup"
    for line in (root / "proc/self/cgroup").read_text(encoding="utf-8").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        top, files = (mount / "memory", V1) if controllers else (mount, V2)
        group = top / path.lstrip("/")
        for folder in (group, *group.parents):
            if folder.is_relative_to(top) and (folder / files[0]).is_file():
                allowed, used, stat = ((folder / each).read_text() for each in files[:3])
                if allowed.strip() != "max":
                    counts = dict(line.split() for line in stat.splitlines())
                    yield int(allowed) - int(used) + int(counts[files[3]])
