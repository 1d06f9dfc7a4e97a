from workflow_src.placing.families import load_rules
from workflow_src.studies.join_points import prepared
from workflow_src.studies.precision import analyze as precision

OK = {"status": "ok", "reason": "", "device": "cuda"}


def derived(point, raw) -> list[dict[str, object]]:
    rules = load_rules()
    return precision.derive(point, [prepared(row, rules) for row in raw])


def test_errors_of_known_sums():
    row = {"part": "accumulation", "value": 4.5, "addend": 1.25, "sum_dtype": "float16"}
    (found,) = derived({"addend": 1.0, "additions": 4}, [row])
    assert found == row | {
        "error": 0.5,
        "representation_error": 1.0,
        "rounding_error": -0.5,
        "spacing": 2**-8,
    }


def activity(name: str, kind: str, busy_ns: int, calls: int = 1) -> dict[str, object]:
    about = {"range": "", "operator": "", "kind": kind, "name": name}
    return about | {"calls": calls, "busy_ns": busy_ns}


def speed_of(activities, **other: object) -> dict[str, object]:
    row = {"part": "speed", "samples_ns": [2000], "activities": activities} | OK
    (found,) = derived({}, [row | other])
    return found


def test_copies_are_counted_once():
    kernels = [
        activity("gemm", "kernel", 600, calls=2),
        activity("bfloat16_copy_kernel_cuda", "kernel", 300, calls=3),
        activity("Memcpy HtoD", "copy", 100, calls=4),
    ]
    on_device = speed_of(kernels)
    assert (on_device["activities"], on_device["copies"]) == (9, 3)
    assert (on_device["copy_ms"], on_device["copy_share"]) == (0.0003, 0.3)
    assert (on_device["busy_ms"], on_device["busy_share"]) == (0.001, 0.5)
    operators = [
        activity("aten::copy_", "operator", 500),
        activity("aten::to", "operator", 500),
    ]
    on_cpu = speed_of(operators)
    assert (on_cpu["copies"], on_cpu["copy_share"]) == (1, 0.5)


def test_what_was_not_profiled_has_its_times_alone():
    (timed,) = derived({}, [{"part": "speed", "samples_ns": [2000, 4000]} | OK])
    assert (timed["median_ms"], timed["samples"]) == (0.003, 2)
    assert {"busy_ms", "activities", "copies"}.isdisjoint(timed)
    oom = {"part": "speed", "status": "oom", "reason": "CUDA out of memory"}
    assert derived({}, [oom]) == [oom]
