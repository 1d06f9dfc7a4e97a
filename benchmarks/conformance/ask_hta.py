"""Device time by range as HolisticTraceAnalysis reports it, printed as JSON. Run by tools.py."""

import contextlib
import json
import sys


def main() -> None:
    """Print the sum of each leaf annotation (us) of the trace named first, and of none."""
    with contextlib.redirect_stdout(sys.stderr):
        from hta.trace_analysis import TraceAnalysis

        analysis = TraceAnalysis(trace_files={0: sys.argv[1]}, trace_dir="")
        kernels = analysis.get_gpu_kernels_with_user_annotations(0, expand_names=True)
    if kernels is None:
        print(json.dumps(None))
        return
    sums = kernels.groupby(kernels["s_user_annotation"].fillna("").astype(str))["dur"].sum()
    print(json.dumps({name: float(us) for name, us in sums.items()}))


if __name__ == "__main__":
    main()
