"""Which range a launch belongs to: small exports of nsys as text, and what is placed where."""

import pytest

from tests.captures.building import (
    Export,
    busy,
    notes,
    tables_in,
    unplaced,
)
from tests.captures.text import written
from workflow_src.common.errors import TraceError
from workflow_src.common.nesting import DEEPEST
from workflow_src.placing.placing import NO_CALL, NO_RANGE, WHOLE

TRAINER, HELPER, LOADER, SECOND, OTHER = 1, 2, 3, 4, 7
STEP = """step 0-100; forward 5-40; *10 1; backward 50-90
    *55 2 @2; hook 60-80 @2; *65 4 @2; *75 8 @2"""
"""Forward launches 1 ns, backward on a helper's thread 2 and, in a hook's range, 4 and 8."""
RIGHT = {"step": 0, "step/forward": 1, "step/backward": 2, "step/backward/hook": 4 + 8}

CASES: dict[str, tuple[str, dict[str, int], dict[str, int], dict[str, int]]] = {
    # What it is about: a text, device time by path, without one by reason, and notes.
    "the innermost open range": (
        "step 0-100; forward 10-50 !; *5 1; *10 2; *49 4; *50 8; *100 16",
        {"step": 1 + 8, "step/forward": 2 + 4}, {NO_RANGE: 16}, {},
    ),
    "domains of one thread make one tree": (
        "step 0-100; forward 10-50 /3; *20 1", {"step": 0, "step/forward": 1}, {}, {},
    ),
    "ranges without an end end with the capture": (
        "program 0-; step 10-50; late 60-; *20 1; *70 2 >90; *95 4",
        {"program": 0, "program/step": 1, "program/late": 2 + 4}, {}, {"unclosed": 2},
    ),
    "of overlapping ranges, the latest begun": (
        "a 0-50; b 20-80; c 30-40; *10 1; *25 2; *35 4; *60 8; *80 16",
        {"a": 1, "b": 2 + 8, "b/c": 4}, {NO_RANGE: 16}, {"overlapping": 1},
    ),
    "ranges of no length have no work": (
        "step 0-100; mark 50-50; outside 200-200; *50 1",
        {"step": 1, "step/mark": 0, "outside": 0}, {}, {},
    ),
    "one name at several depths": (
        "b 0-100; b 10-90; b 20-80; b 200-300; *5 1; *15 1; *25 1; *250 1",
        {"b": 2, "b/b": 1, "b/b/b": 1}, {}, {},
    ),
    "without ranges on the first thread, the one with most": (
        "load 0-100 @2; step 0-50 @3; step 50-100 @3; *60 1 @9",
        {"load": 0, "step": 1}, {}, {"lent": 1},
    ),
    "processes with the same numbers": (
        """first 0-100; second 0-100 #2; idle 0-100 #4; *10 1 =5; *20 2 =5 #2 :1:7
        *? 4 >50 =6""",
        {"first": 1, "second": 2, "idle": 0}, {NO_CALL: 4}, {},
    ),
    "work whose launch is unknown": (
        "step 0-100; *10 1 =50; *? 2 >1 =3; *? 4 >50 =70; *? 8 >50 =0; o 0-100 #2; *? 16 >50 #2",
        {"step": 1, "o": 0},
        {NO_CALL: 2 + 4 + 8 + 16}, {},
    ),
    "of two calls with one number the outer one launched": (
        "outer 0-15; inner 15-40; *15 1 =1; ~ 14-18 =1", {"outer": 1, "inner": 0}, {}, {},
    ),
    "a number that is used again": (
        "first 0-20; second 20-40; *15 1 =1; *25 2 =1; *30 4",
        {"first": 0, "second": 4}, {NO_CALL: 1 + 2}, {"reused numbers": 2},
    ),
    "work that starts before its launch": (
        "step 100-200; *110 1; *120 2 >0", {"step": 3}, {}, {"early": 1},
    ),
    "a loader whose ranges hold the trainer's calls": (
        f"{STEP}; load 20-95 @3; +45 16 @3; +98 32 @3",
        RIGHT | {"load": 16}, {NO_RANGE: 32}, {"lent": 3},
    ),
    "a saver whose calls meet the trainer's": (
        f"{STEP}; save 1-4 @3; save 41-44 @3; save 91-94 @3; ~ 9-12 @3; *42 16 @3",
        RIGHT | {"save": 16}, {}, {"lent": 3},
    ),
    "a metric's thread that by chance does all while the trainer waits": (
        f"{STEP}; metric 41-44 @3; *42 16 @3", RIGHT | {"step/metric": 16}, {}, {"lent": 4},
    ),
    "a thread that nothing ties to another": (
        f"{STEP}; ~ 9-12 @3; *45 16 @3", RIGHT | {"step": 16}, {}, {"lent": 4},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("text", "paths", "nowhere", "told"), CASES.values(), ids=CASES)
def test_work_lies_where_it_was_launched(
    export: Export,
    text: str,
    paths: dict[str, int],
    nowhere: dict[str, int],
    told: dict[str, int],
) -> None:
    tables = written(text, export).tables()
    assert (busy(tables), unplaced(tables), notes(tables)) == (paths, nowhere, told)


@pytest.mark.parametrize("registered", [False, True])
def test_domains_have_names_within_their_process(export: Export, registered: bool) -> None:
    export.domain(1, "trainer", process=1, registered=registered)
    export.domain(1, "NCCL", process=2, registered=registered)
    written("step 0-100 /1; reduce 0-100 /1 #2; *10 1; *10 2 #2", export)
    assert busy(export.tables()) == {"step": 1, WHOLE: 2}
    assert busy(export.tables("NCCL")) == {WHOLE: 1, "reduce": 2}


def test_domains_can_be_asked_for(export: Export) -> None:
    export.domain(3, "trainer")
    written("step 0-100; forward 10-50 /3; *20 1; whole 0-200 /7", export)
    assert busy(export.tables("default")) == {"step": 1}
    assert notes(export.tables("default")) == {"not asked for": 2}
    assert busy(export.tables("trainer", "default")) == {"step": 0, "step/forward": 1}
    with pytest.raises(TraceError, match=r"no domain 'trainr', it has default, domain 7, trainer$"):
        export.tables("trainr")


def test_a_librarys_domain_is_told_from_the_users(export: Export) -> None:
    """NCCL's ranges on autograd's thread don't take backward's kernels away from backward."""
    libraries = ["CCCL", "NCCL", "cuBLAS", "cuDNN"]
    for number, library in enumerate(libraries, start=1):
        export.domain(number, library)
        written(f"in {library} {10 * number}-{10 * number + 9} @2 /{number}", export)
    tables = written("step 0-100; *20 1; *25 2 @2; *55 4 @2", export).tables()
    assert busy(tables) == {"step": 7} and notes(tables)["libraries"] == 4
    assert tables["notes"]["about"].tolist() == [*libraries, ""]


def test_marks_are_no_ranges_and_imported_ranges_are(export: Export) -> None:
    written("step 0-100; imported 10-50; mark 20-; *30 1", export)
    for name, kind in (("imported", 70), ("mark", 34)):
        export.sql("UPDATE NVTX_EVENTS SET eventType = ? WHERE text = ?", kind, name)
    tables = export.tables()
    assert busy(tables) == {"step": 0, "step/imported": 1} and notes(tables) == {}


def test_names_of_any_kind_give_different_paths(export: Export) -> None:
    """Non-ASCII names, "/" and backslashes in names, names that look like a path, empty ones."""
    names = ["é/1", "a", "a/b", "a\\", "日本\n語", "", "(whole)"]
    for number, name in enumerate(names):
        export.range(name, number * 10, number * 10 + 5)
    export.range("b", 11, 13)
    expected = {"é\\/1", "a", "a\\/b", "a\\\\", "日本␊語", "", "(whole)", "a/b"}
    assert set(busy(export.tables())) == expected
    assert export.tables()["summary"]["ranges"].tolist() == [8, 8]


def test_a_program_that_forgets_to_close_its_ranges_does_not_fill_the_memory(
    export: Export,
) -> None:
    """Each step lies in all steps before it: without a limit, paths are 7 MB of text."""
    for step in range(0, 10_000, 10):
        written(f"step {step}-; forward {step + 1}-{step + 8}; *{step + 2} 1", export)
    tables = export.tables()
    assert sum(busy(tables).values()) == 1_000
    assert busy(tables)["step/forward"] == 1 and busy(tables, "busy_ms")["step"] == 1_000
    deepest = "/".join(["step"] * (DEEPEST - 1))
    assert busy(tables)[f"{deepest}/forward"] == 1_000 - DEEPEST + 2
    assert tables["paths"]["instances"].sum() == 2_000
    assert notes(tables) == {"unclosed": 1_000, "too deep": 2 * (1_000 - DEEPEST) + 1}


def train(export: Export, begin: int = 0, trainer: int = TRAINER, helper: int = HELPER) -> None:
    written(
        f"""step {begin}-{begin + 100} @{trainer}; forward {begin + 5}-{begin + 40} @{trainer}
        *{begin + 10} 1 @{trainer}; backward {begin + 50}-{begin + 90} @{trainer}
        *{begin + 55} 2 @{helper}; hook {begin + 60}-{begin + 80} @{helper}
        *{begin + 65} 4 @{helper}; *{begin + 75} 8 @{helper}""",
        export,
    )


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("trainer", [TRAINER, OTHER])
def test_what_autograds_thread_launches_and_pushes_lies_below_backward(
    export: Export, named: bool, trainer: int
) -> None:
    """A loader that has most ranges and makes no call is neither a caller nor the main thread."""
    for begin in (0, 100, 200):
        train(export, begin, trainer)
        for start in range(begin + 1, begin + 100, 4):
            export.range("load", start, start + 3, thread=LOADER)
    if named:
        export.named(HELPER, "pt_autograd_0")
    tables = export.tables()
    assert busy(tables) == {path: 3 * ns for path, ns in RIGHT.items()} | {"load": 0}
    assert unplaced(tables) == {} and notes(tables) == {"lent": 9}
    assert tables["steps"]["busy_ns"].tolist() == [15, 15, 15]


def test_two_trainers_on_two_devices_get_their_own_backward(export: Export) -> None:
    for device, trainer, helper in ((0, TRAINER, HELPER), (1, SECOND, OTHER)):
        for begin in (0, 100, 200):
            train(export, begin + 23 * device, trainer, helper)
        export.named(helper, f"pt_autograd_{device}")
    tables = tables_in(export.write(), step="step")
    assert busy(tables) == {path: 6 * ns for path, ns in RIGHT.items()}
    assert unplaced(tables) == {} and notes(tables) == {"lent": 18}
    assert tables["steps"]["busy_ns"].tolist() == [15] * 6
