"""What comes first of savings with given intervals, by hand: the plain time is 100 ms."""

from dataclasses import replace

import pytest

from workflow_src.answers.change_first.saving import (
    Known,
    Saving,
    choice,
    merged,
    saving,
    told_to_train,
)
from workflow_src.answers.intervals import Interval
from workflow_src.paper.value import Value


def ms(middle: float, low: float, high: float) -> Interval:
    return Interval(*(Value(number, "ms", ()) for number in (middle, low, high)))


PLAIN = ms(100, 100, 100)


def of(names: str, middle: float, low: float, high: float, measured: bool = True) -> Saving:
    made = saving(names.split("+"), PLAIN, ms(middle, low, high), Known(measured))
    assert made
    return made


G, B, BOTH = "graph", "bf16", "bf16+graph"


@pytest.mark.parametrize(
    ("times", "contenders", "best"),
    [
        pytest.param({G: (60, 59, 61), B: (80, 70, 90)}, [G], G, id="the most"),
        pytest.param({G: (60, 59, 61), B: (70, 61, 79)}, [G, B], G, id="they touch"),
        pytest.param({G: (60, 59, 61), B: (50, 20, 120)}, [B, G], G, id="more, but unsure"),
        pytest.param({G: (60, 59, 61), B: (99, 50, 150)}, [G, B], G, id="less and unsure"),
        pytest.param(
            {G: (60, 59, 75), "sdpa": (78, 77, 79), B: (80, 70, 90)},
            [G, B],
            G,
            id="sdpa is longer than the graph at its longest",
        ),
        pytest.param({G: (60, 59, 61), B: (101, 50, 150)}, [G, B], G, id="may save most"),
        pytest.param({G: (99, 97, 101), B: (120, 90, 140)}, [], "", id="nothing sure"),
        pytest.param({G: (60, 59, 61), BOTH: (20, 19, 21)}, [G], BOTH, id="together"),
        pytest.param({B: (120, 110, 130), BOTH: (20, 19, 21)}, [], BOTH, id="only together"),
    ],
)
def test_first_is_the_single_remedy_that_saves_most_if_no_other_may(
    times: dict[str, tuple[float, float, float]], contenders: list[str], best: str
) -> None:
    found = choice([of(names, *interval) for names, interval in times.items()])
    assert ["+".join(each.remedies) for each in found.contenders] == contenders
    assert ("+".join(found.best.remedies) if found.best else "") == best
    assert (found.first is None) == (len(contenders) != 1)


def test_what_was_measured_counts_and_keeps_its_prediction_beside_it() -> None:
    """The first measurement of a combination counts; the order of "+" doesn't matter."""
    measured = [of("graph+bf16", 20, 19, 21), of("bf16+graph", 40, 39, 41)]
    both, alone = of("bf16+graph", 25, 22, 28, False), of("sdpa", 90, 80, 95, False)
    found = merged(measured, [both, alone])
    assert [each.remedies for each in found] == [("sdpa",), ("bf16", "graph")]
    assert [each.measured for each in found] == [False, True]
    assert found[1].time.middle.number == 20
    assert found[1].predicted == both.time and found[0].predicted is None


def test_savings_of_two_moments_compare_by_what_is_left_of_the_plain_time_of_each() -> None:
    """60 of 100 ms are more than 70 of 200; and no prediction stands beside another moment's."""
    own = of("sdpa", 60, 59, 61)
    other = saving(["graph"], ms(200, 200, 200), ms(70, 70, 70), Known(True, studied=True))
    assert other
    assert choice([own, other]).first == other
    (found,) = merged([other], [of("graph", 50, 49, 51, False)])
    assert found == other


def test_a_saving_reaches_from_the_worst_to_the_best_of_both_sides() -> None:
    """50 of 100 ms; 50 of 80 at worst against 60 with it, 40 of 160 at best."""
    made = saving(["graph"], ms(100, 80, 160), ms(50, 40, 60), Known(True))
    assert made
    shares = made.share.middle, made.share.low, made.share.high
    assert [share.number for share in shares] == [0.5, 0.25, 0.75]
    assert saving(["graph"], ms(0, 0, 0), ms(1, 1, 1), Known(True)) is None


STEP, OF_FORWARD = "train_step", "forward"
ALL = {G: 30, B: 60, "fused": 90, BOTH: 25, "foreach+graph": 29, "fused+graph": 28}
"""Times of a step with remedies, each known to a tenth of a millisecond."""


@pytest.mark.parametrize(
    ("phase", "optimizer", "known", "first", "best"),
    [
        pytest.param(STEP, "adamw", ALL, "fused+graph", "fused+graph", id="only with fused"),
        pytest.param(OF_FORWARD, "adamw", ALL, G, BOTH, id="no step, nothing to count"),
        pytest.param(STEP, "fused", {G: 30, B: 60, BOTH: 25}, G, BOTH, id="fused already"),
        pytest.param(STEP, "adamw", {G: 30, B: 60, BOTH: 25}, B, B, id="no pair is known"),
        pytest.param(
            STEP,
            "adamw",
            {G: 30, "fused": 28.1, "fused+graph": 28},
            "fused+graph",
            "fused+graph",
            id="a pair's own part is no choice beside it",
        ),
    ],
)
def test_a_graph_that_does_not_train_is_neither_first_nor_best(
    phase: str, optimizer: str, known: dict[str, float], first: str, best: str
) -> None:
    """AdamW written out counts its steps on the host, where no replay counts on."""
    savings = [
        told_to_train(of(names, time, time - 0.1, time + 0.1), optimizer, phase)
        for names, time in known.items()
    ]
    found = choice(savings)
    assert [each.name for each in found.contenders] == [first]
    assert found.best and found.best.name == best


def test_a_graph_that_the_study_ended_with_backward_trains_beside_the_replay_that_does_not() -> (
    None
):
    replay, tried = of(G, 30, 29, 31), of(G, 35, 34, 36)
    tried = replace(tried, known=Known(True, studied=True))
    pair = of("fused+graph", 28, 27, 29, False)
    known = [told_to_train(each, "adamw", STEP) for each in (replay, tried, pair)]
    found = merged(known[:2], known[2:])
    assert [each.name for each in found] == ["graph (no training)", G, "fused+graph"]
    assert choice(found).first == known[1], "no pair stands in where it trains alone"
