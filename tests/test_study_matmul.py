import json
import tempfile
from pathlib import Path

import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from workflow_src.studies.matmul.section import SECTION

from workflow_src.common.thresholds import LAUNCH_BOUND_BELOW
from workflow_src.measure import timing
from workflow_src.measure.timing import plan_repeats, time_within
from workflow_src.plan.config import load
from workflow_src.render.markdown import DASH
from workflow_src.studies.join_points import join
from workflow_src.studies.matmul import analyze as matmul
from workflow_src.studies.matmul import measure as matmul_measure
from workflow_src.studies.matmul import remarks, verdicts
from workflow_src.studies.matmul import tiles as matmul_tiles
from workflow_src.studies.matmul.analyze import kernel_of
from workflow_src.studies.matmul.points import SIZES, points
from workflow_src.studies.matmul.waves import covered, tile_of
from workflow_src.studies.rows import filled
from workflow_src.studies.section import STAYED, read_table, stayed, unsteady
from workflow_src.traces.families import load_rules

ROOT = Path(__file__).parent.parent
TEMPLATES = ROOT / "report_templates"
SETTINGS = load(ROOT / "config.yaml")
RULES = load_rules(ROOT / "workflow_src" / "traces" / "families.csv")
NVJET = "nvjet_tst_128x256_64x4_2x1_v_bz_coopA_NNN"


def row(sweep: str, n: int, tflops: float, **more) -> dict:
    times = {"median_ms": 2 * n**3 / tflops / 1e9, "p20_ms": 1.0, "p80_ms": 1.0, "busy_ms": 1.0}
    about = {"sweep": sweep, "precision": "bf16", "n": n, "divisor": matmul.divisor(n)}
    ran = {"kernel": NVJET, "tile": "128x256", "ran": "bf16", "status": "ok", "reason": ""}
    return about | times | ran | {"tflops": tflops} | more


def edge_rows(*rates: float, **more) -> list[dict]:
    about = {"multiprocessors": 132, "edge": 2048} | more
    sizes = range(2048 - 32 * (len(rates) // 2), 4096, 32)
    pairs = zip(sizes, rates, strict=False)
    return [row("edge", n, r, **about) for n, r in pairs]


def ran(n: int, tflops: float, tile: str, sweep: str = "edge", **more) -> dict:
    """A row of a fine sweep on 132 multiprocessors, in which a kernel of that tile ran."""
    about = {"multiprocessors": 132, "edge": 2048, "tile": tile, "kernel": f"gemm_{tile}_t"}
    return row(sweep, n, tflops, **about | more)


H200 = (
    (2016, 636.0, "128x256"), (2048, 677.4, "256x128"), (2080, 619.8, "192x192"),
    (2208, 626.1, "160x256"), (2240, 676.6, "320x128"), (2272, 521.0, "256x80"),
    (2304, 597.8, "192x128"),
)  # fmt: skip
"""Of the published sweep across the edge: n, TFLOP/s and the tile that ran."""


def read_back(table: pd.DataFrame) -> pd.DataFrame:
    """A table as a section reads it from its file."""
    with tempfile.TemporaryDirectory() as folder:
        table.to_csv(Path(folder, "t.csv"), index=False)
        return read_table(Path(folder, "t.csv"))


def written(rows: list[dict], gpu: str = "NVIDIA H200") -> pd.DataFrame:
    """The table that holds `rows` as its rows."""
    return read_back(pd.DataFrame([row | {"point": "p", "gpu": gpu} for row in rows]))


def text(rows: list[dict], gpu: str = "NVIDIA H200") -> str:
    table = written(rows, gpu)
    return SECTION.markdown(table, TEMPLATES) + SECTION.appendix(table, TEMPLATES)


def joined(folder: Path, rows: list[dict]) -> list[dict]:
    """The table's rows of raw rows, as the study's commands write and read them."""
    result = {"point": {"point": "p"}, "rows": rows, "environment": {"gpu": "NVIDIA H200"}}
    (folder / "p.json").write_text(json.dumps(result))
    return filled(read_back(join([folder / "p.json"], matmul.derive, RULES)))


@pytest.mark.parametrize(
    ("multiprocessors", "edge"), [(108, 1792), (132, 2048), (114, 1792), (148, 2048)]
)
def test_the_edge_near_2048(multiprocessors, edge):
    assert matmul_tiles.edge_near(2048, multiprocessors) == edge


def test_tiles_and_waves_at_the_known_edge():
    assert [matmul_tiles.tiles(n) for n in (1792, 1793)] == [98, 120]
    assert [matmul_tiles.waves(n, 108) for n in (1792, 1793)] == [1, 2]


@given(st.integers(1, 200), st.integers(128, 6000))
def test_waves_rise_past_an_edge_and_nowhere_else(multiprocessors, n):
    waves = [matmul_tiles.waves(m, multiprocessors) for m in (n, n + 1)]
    assert (waves[1] > waves[0]) == (n in matmul_tiles.edges(multiprocessors, n + 1))


def test_sizes_of_the_fine_sweeps():
    sizes = matmul_tiles.edge_sizes(2048, 256, 32)
    assert (sizes[0], sizes[-1], len(sizes), 2048 in sizes) == (1792, 2304, 17, True)
    fine = matmul_tiles.divisibility_sizes(2048)
    classes = pd.Series([matmul.divisor(n) for n in fine]).value_counts().to_dict()
    assert classes == {32: 4, 16: 4, 8: 8, 2: 16, 1: 21}
    assert {matmul_tiles.tiles(n) for n in fine} == {128}


@pytest.mark.parametrize(
    ("n", "tile", "tiles", "waves"),
    [
        (2048, "256x128", 128, 1), (2048, "128x256", 128, 1), (2080, "192x192", 121, 1),
        (2144, "160x256", 126, 1), (2176, "320x128", 119, 1), (2240, "320x128", 126, 1),
        (2272, "256x80", 261, 2), (2304, "192x128", 216, 2), (2049, "128x128", 289, 3),
        (2056, "192x176", 132, 1), (2048, "", None, None), (2048, None, None, None),
    ],
)  # fmt: skip
def test_tiles_and_waves_are_those_of_the_tile_that_ran(n, tile, tiles, waves):
    found = covered({"n": n, "tile": tile, "multiprocessors": 132})
    assert found == {"tiles": tiles, "waves": waves}


def test_without_multiprocessors_only_the_tiles_are_known():
    assert covered({"n": 2048, "tile": "256x128"}) == {"tiles": 128, "waves": None}
    assert covered({"n": 2048}) == {"tiles": None, "waves": None}


def test_waves_alone_take_almost_half_past_the_edge():
    low, high = (ran(n, 500.0, "128x256", waves=w) for n, w in ((2048, 1), (2080, 2)))
    expected = 1 - (2080**2 / 2) / 2048**2
    assert verdicts.expected_drop(low, high) == pytest.approx(expected)
    assert verdicts.expected_drop(low, high | {"tile": "256x128"}) == pytest.approx(expected)
    assert verdicts.expected_drop(low, high | {"tile": "256x80"}) is None


@pytest.mark.parametrize(
    ("rough_ms", "repeats"),
    [(0.01, (100, 50)), (0.1, (10, 50)), (4.0, (1, 25)), (200.0, (1, 5))],
)
def test_repeats_follow_the_budget(rough_ms, repeats):
    assert plan_repeats(rough_ms, budget_ms=100.0, sample_ms=1.0) == repeats


def test_a_call_too_short_for_the_clock_is_repeated(monkeypatch):
    monkeypatch.setattr(timing, "time_call", lambda call, device, warmup, steps: [0] * steps)
    found = time_within(lambda: None, "cpu", 100.0, 1.0)
    assert found["calls_per_sample"] == timing.MOST_CALLS and len(found["samples_ns"]) == 50


def test_peaks_with_the_datasheet_of_a_known_gpu():
    rows = [row("sizes", n, r) for n, r in ((128, 1.0), (512, 300.0), (1024, 494.5), (2048, 600))]
    (peak,) = matmul.summarize(written(rows))["peaks"]
    assert (peak["tflops"], peak["n"], peak["half_from"]) == (600, 2048, 512)
    assert peak["of_datasheet"] == pytest.approx(600 / 989)
    said = text(rows)
    assert "600 TFLOP/s in bf16 at n = 2048 (60.7 % of 989)" in said
    assert "n = 512 on in bf16" in said
    assert "82.4 %" in said


def test_a_gpu_without_datasheet_has_no_such_column():
    said = text([row("sizes", 128, 1.0)], gpu="NVIDIA H100 PCIe")
    assert "datasheet" not in said


def test_half_is_reached_only_where_no_larger_size_falls_below():
    rows = [row("sizes", n, r) for n, r in ((128, 60.0), (256, 10.0), (512, 100.0), (1024, 70.0))]
    assert matmul.peaks(matmul.sweep(written(rows), "sizes"))[0]["half_from"] == 512


def test_a_largest_size_below_half_of_the_best_leaves_no_size_from_which_half_is_reached():
    rows = [row("sizes", n, r) for n, r in ((128, 60.0), (256, 100.0), (512, 10.0))]
    rows += [row("sizes", n, r, precision="fp32") for n, r in ((128, 9.0), (256, 10.0))]
    fp32, bf16 = matmul.peaks(matmul.sweep(written(rows), "sizes"))
    assert (fp32["half_from"], bf16["half_from"]) == (128, None)
    said = text(rows)
    assert "Half of its best rate is reached from n = 128 on in fp32.\n" in said
    assert "no n tried" in said
    assert "Half of its best" not in text(rows[:3])


def test_launch_bound_sizes_and_another_precision_are_named():
    rows = [
        row("sizes", 128, 1.0, median_ms=1.0, busy_ms=0.2, ran="tf32"),
        row("sizes", 256, 2.0, median_ms=1.0, busy_ms=0.79),
        row("sizes", 512, 2.0, median_ms=1.0, busy_ms=LAUNCH_BOUND_BELOW),
    ]
    summary = matmul.summarize(written(rows))
    assert (summary["launch_bound"], summary["other_precision"]) == (256, ["bf16 (tf32)"])
    assert "Up to n = 256 there are products whose kernels are busy for less than 80 %" in text(
        rows
    )
    assert matmul.summarize(written(rows, gpu=""))["launch_bound"] == 0


@pytest.mark.parametrize(
    ("rates", "verdict", "after", "said"),
    [
        ((500, 510, 520, 300, 310), "at_rise", 2048,
         "the rate falls by 42.3 %, the largest drop between neighboring sizes. If only the number "
         "of waves mattered, it would fall by 48.4 %.\nTiles of 128x256, which were assumed to "
         "choose the sizes, start another wave at the same place (see the appendix).\n"),
        ((500, 300, 320, 330, 340), "elsewhere", 1984,
         "There the rate doesn't fall. If only the number of waves mattered, it would fall by "
         "48.4 %.\nThe largest drop between neighboring sizes, 40.0 %, follows n = 1984, where no "
         "other wave starts.\n"),
        ((500, 300, 400, 360, 340), "elsewhere", 1984, "There the rate falls by 10.0 %. If only"),
        ((500, 505, 510, 500, 515), "none", 2048,
         "There the rate falls by 2.0 %. If only the number of waves mattered, it would fall by "
         "48.4 %.\nNo drop between neighboring sizes is 5 % or more.\n"),
    ],
)  # fmt: skip
def test_the_verdict_where_waves_rise_at_the_assumed_edge(rates, verdict, after, said):
    rows = edge_rows(*rates)
    found = matmul.summarize(written(rows))["edge"]
    assert (found["drop"], found["largest"]["below"]["n"]) == (verdict, after)
    assert found["rise"] == found["assumed"] and found["rise_at_edge"]
    assert found["rise"]["drop"] == pytest.approx(1 - rates[3] / rates[2])
    assert said in text(rows)
    assert (
        "the number of waves on 132 multiprocessors first rises from n = 2048 (128 tiles of "
        "128x256, 1 wave) to n = 2080 (153 tiles of 128x256, 2 waves). There"
    ) in text(rows)


def test_waves_that_rise_beyond_the_assumed_edge_by_the_tiles_that_ran():
    rows = [ran(*each) for each in H200]
    said = text(rows)
    assert (
        "By the tiles in the kernels' names, the number of waves on 132 multiprocessors first "
        "rises from n = 2240 (126 tiles of 320x128, 1 wave) to n = 2272 (261 tiles of 256x80, 2 "
        "waves). There the rate falls by 23.0 %, the largest drop between neighboring sizes. The "
        "tile changes there, too, so this sweep can't tell what the wave alone costs.\n"
        "With tiles of 128x256, which were assumed to choose the sizes, another wave would start "
        "past n = 2048. But past it another tile runs (192x192 instead of 256x128) and 1 wave is "
        "enough: from there to n = 2080 the rate falls by 8.5 % (see the appendix).\n"
    ) in said
    assert "it goes from 677 (n = 2240) to 521 (n = 2272)." in said
    assert "If only the number of waves" not in said
    found = matmul.summarize(written(rows))["edge"]
    assert (found["drop"], found["rise_at_edge"], found["rise"]["expected"]) == (
        "at_rise", False, None,
    )  # fmt: skip


def test_the_waves_of_an_older_table_are_replaced_by_those_of_the_tile_that_ran():
    older = [ran(*each, waves=1 + (each[0] > 2048)) for each in H200]
    assert text(older) == text([ran(*each) for each in H200])
    assert "| 2080 |       620 | 192x192            |     121 |       1 |" in text(older)


def test_waves_that_rise_again_at_the_assumed_edge():
    found = text([ran(2016, 600.0, "256x128"), ran(2048, 500.0, "128x128"),
                  ran(2080, 450.0, "64x128")])  # fmt: skip
    assert "first rises from n = 2016 (128 tiles of 256x128, 1 wave) to n = 2048 (256 " in found
    assert "past n = 2048. There the waves rise again, and the rate falls by 10.0 % (see" in found


def test_waves_that_never_rise():
    rows = [ran(n, rate, "320x256") for n, rate in ((2016, 600.0), (2048, 620.0), (2080, 540.0))]
    said = text(rows)
    assert (
        "the number of waves on 132 multiprocessors never rises from one size to the next.\n"
        "The largest drop between neighboring sizes, 12.9 %, follows n = 2048, where no other "
        "wave starts.\n"
    ) in said
    assert (
        "past n = 2048. But 320x256 runs on both sides and 1 wave is enough: from there to "
        "n = 2080 the rate falls by 12.9 % (see the appendix).\n"
    ) in said
    assert matmul.summarize(written(rows))["edge"]["rise"] is None


@pytest.mark.parametrize("lacking", [{"tile": ""}, {}])
def test_without_any_tile_no_waves_are_claimed(lacking):
    rows = [row | lacking for row in edge_rows(500, 510, 520, 300, 310)]
    rows = rows if lacking else [{k: v for k, v in row.items() if k != "tile"} for row in rows]
    said = text(rows)
    assert (
        "The kernels' names tell no tile, so where another wave starts isn't known.\n"
        "The largest drop between neighboring sizes, 42.3 %, follows n = 2048.\n"
        "With tiles of 128x256, which were assumed to choose the sizes, another wave would start "
        "past n = 2048. From there to n = 2080 the rate falls by 42.3 % (see the appendix).\n"
    ) in said
    assert "kernel names with a tile" not in said and "If only" not in said
    assert f"| 2048 |       520 | {DASH}                  |       {DASH} |       {DASH} |" in said


def test_a_few_tiles_tell_waves_only_between_neighbors():
    rows = edge_rows(500, 510, 520, 300, 310)
    for each in rows[1:4:2]:
        each["tile"] = ""
    assert "The kernels' names tell too few tiles, so where" in text(rows)
    rows[3]["tile"] = "128x256"
    assert "names, which 4 of 5 tell, the number of waves on 132 multiprocessors first" in text(
        rows
    )


def past(rates: tuple[float, float, float], kernels: bool = False) -> list[dict]:
    """The sweep just past the edge, of one kernel or of the published ones."""
    tiles = ("256x128", "128x128", "192x176") if kernels else ("256x256",) * 3
    sizes = zip((2048, 2049, 2056), rates, tiles, strict=True)
    return [ran(*each, sweep="past_edge") for each in sizes]


def test_the_base_is_the_median_of_all_measurements_of_the_edge():
    rows = past((612.4, 99.086, 619.57), kernels=True)
    rows += [ran(2048, 677.386, "256x128"), row("divisibility", 2048, 677.392)]
    rows += [row("sizes", 2048, 900.0), row("divisibility", 2048, 50.0, precision="fp32")]
    found = matmul.summarize(written(rows))["past_edge"]
    assert (found["base"]["tflops"], found["base"]["times"]) == (677.386, 3)
    assert found["change"]["aligned"] == pytest.approx(619.57 / 677.386 - 1)
    assert (
        "n = 2048 was measured more than once in the fine sweeps, at 612 to 677 TFLOP/s. These "
        "differ by 9.6 %, so a smaller change from n = 2048 shows nothing. The changes below are "
        "from the median, 677.\n"
        "With one more row and column than n = 2048, n = 2049, the rate changes by -85.4 %, to "
        "99.1 TFLOP/s; another kernel runs, gemm_128x128_t (289 tiles, 3 waves). At n = 2056, "
        "larger still but with rows of a multiple of 16 bytes, it changes by -8.5 %, to 620, "
        "within the range of n = 2048; another kernel runs, gemm_192x176_t (132 tiles, 1 wave). "
        "So the rate at n = 2049 is 84.0 % below that of this larger size.\n"
    ) in text(rows)


def test_odd_sizes_with_as_many_tiles_tell_a_loss_without_more_waves():
    rows = past((612.4, 99.086, 619.57), kernels=True)
    rows += [row("divisibility", 2048, 620.0), row("divisibility", 2047, 124.0, kernel="odd")]
    assert (
        "that of this larger size. It takes more waves, too, but the odd sizes of the sweep by "
        "divisor lose 80.0 % with no more tiles than the others.\n"
    ) in text(rows)
    rows[-1]["tile"] = "64x64"
    assert "It takes more waves, too" not in text(rows)


@pytest.mark.parametrize(
    ("rates", "said"),
    [
        (
            (700.0, 350.0, 490.0),
            "With one more row and column than n = 2048, n = 2049, the rate changes by -50.0 %, "
            "to 350 TFLOP/s (81 tiles, 1 wave). At n = 2056, larger still but with rows of a "
            "multiple of 16 bytes, it changes by -30.0 %, to 490 (81 tiles, 1 wave). So the rate "
            "at n = 2049 is 28.6 % below that of this larger size.\n",
        ),
        ((700.0, 490.0, 497.0), "it changes by -29.0 %, to 497 (81 tiles, 1 wave).\n"),
    ],
)
def test_one_row_past_the_edge_is_told_apart_from_an_odd_length(rates, said):
    rows = past(rates)
    assert said in text(rows)
    assert "2048 was measured" not in text(rows) and "another kernel runs" not in text(rows)
    assert matmul.summarize(written(rows[:2]))["past_edge"] is None


def test_just_past_the_edge_without_tiles_nothing_is_said_of_waves():
    rows = [each | {"tile": ""} for each in past((700.0, 350.0, 490.0))]
    assert "by -50.0 %, to 350 TFLOP/s. At n = 2056" in text(rows)


def test_names_bear_the_assumed_tile_out_or_not():
    rows = edge_rows(500, 510, 520, 300, 310)
    rows[0]["tile"], rows[1]["tile"], rows[2]["tile"] = "256x128", "128x128", ""
    assert "which 3 of 4 kernel names with a tile have (or its transpose): n = 2048 takes" in text(
        rows
    )


def test_an_edge_that_ran_out_of_memory_has_no_verdict():
    rows = edge_rows(500, 510, 520, 300, 310)
    kept = [r for r in rows if r["n"] != 2048]
    lost = {"status": "oom", "reason": "CUDA out of memory", "tflops": None}
    assert matmul.summarize(written([*kept, rows[2] | lost]))["edge"] is None
    assert "Out of memory: bf16 n = 2048" in text([*kept, rows[2] | lost])


def test_divisors_by_their_medians():
    rows = [row("divisibility", n, r) for n, r in ((2048, 600), (2047, 100), (2045, 200))]
    rows += [row("divisibility", n, r) for n, r in ((2046, 300), (2016, 580))]
    found = verdicts.divisor_classes(matmul.sweep(written(rows), "divisibility"))
    assert {r["divisor"]: (r["tflops"], r["sizes"]) for r in found} == {
        32: (590, 2),
        2: (300, 1),
        1: (150, 2),
    }
    said = text(rows)
    assert "16, 8, 2 and 1 that divides n, those of 32 are fastest (median 590 TFLOP/s)" in said
    assert "those of 1 (odd n) slowest" in said
    assert "never falls" in said


def test_divisors_about_as_fast_as_the_fastest_are_named_together():
    rates = ((2048, 626.0, "a"), (2032, 619.0, "b"), (2040, 607.0, "a"), (2046, 188.0, "c"))
    rows = [row("divisibility", n, rate, kernel=k) for n, rate, k in (*rates, (2047, 124.0, "d"))]
    said = text(rows)
    assert (
        "divides n, those of 32, 16 and 8 are about equally fast (medians of 607 to 626 TFLOP/s), "
        "those of 1 (odd n) slowest (124, 80.2 % less than the fastest)."
    ) in said
    assert (
        "other kernels run in the groups of 32, 16 and 8 than in that of 1 (odd n). All sizes of "
        "that sweep take 128 tiles, by the tiles in the kernels' names, so the number of tiles "
        "doesn't make the difference (see the appendix).\n"
    ) in said
    rows[4]["tile"] = ""
    assert "than in that of 1 (odd n) (see the appendix).\n" in text(rows)
    rows[4]["kernel"] = "b"
    assert "other kernels run" not in text(rows)


def test_divisors_that_do_not_matter():
    rows = [row("divisibility", n, r) for n, r in ((2048, 600), (2047, 590))]
    assert "no group's median rate differs from another's by 5 % or more" in text(rows)


def test_rates_that_do_not_rise_with_the_divisor():
    rows = [row("divisibility", n, r) for n, r in ((2048, 500), (2047, 300), (2046, 600))]
    assert "does not always rise" in text(rows)


def test_nothing_measured_is_said():
    rows = [{"sweep": "sizes", "precision": "fp8", "status": "skipped", "reason": "needs more"}]
    said = text(rows)
    assert "No product was measured." in said
    assert "Skipped: fp8 sizes: needs more." in said
    assert "no product was measured" in SECTION.svg(written(rows))


def test_samples_at_two_levels_are_remarked():
    rows = [
        row("sizes", 4096, 700.0, median_ms=1.0, p20_ms=0.9, p80_ms=1.02),
        row("sizes", 8192, 600.0, median_ms=1.0, p20_ms=0.96, p80_ms=1.2, busy_ms=1.15),
        row("sizes", 2048, 500.0, median_ms=1.0, p20_ms=0.5, p80_ms=1.0, busy_ms=0.1),
        row("sizes", 1024, 100.0, median_ms=1.0, p20_ms=0.96, p80_ms=1.04),
    ]
    found = remarks.unsteady(matmul.sweep(written(rows), "sizes"))
    assert [row["n"] for row in found] == [8192, 4096]
    said = text(rows)
    assert "the most that of bf16 at n = 8192, 500 to 625 TFLOP/s (80th and 20th percentile" in said
    assert "- Unsteady: bf16 at n = 4096 took 0.900 ms (20th percentile, 778 TFLOP/s)" in said
    assert "| 8192 | 600 (u)" in said and "| 2048 | 500 (w)" in said
    assert "| 1024 | 100  " in said
    assert "by up to 15.0 % (bf16 at n = 8192): its busy time is no share of the median" in said
    assert "nsteady" not in text(rows[3:]) and "its busy time" not in text(rows[3:])


def test_the_most_unsteady_rate_is_the_one_of_the_widest_range():
    rows = [
        row("sizes", 4096, 393.0, median_ms=1.0, p20_ms=0.997, p80_ms=1.116, precision="tf32"),
        row("sizes", 8192, 702.0, median_ms=1.0, p20_ms=0.902, p80_ms=1.032),
    ]
    assert [r["n"] for r in remarks.unsteady(rows)] == [8192, 4096]
    assert "the most that of bf16 at n = 8192, 680 to 778 TFLOP/s (80th and 20th" in text(rows)


def test_a_wave_is_told_in_words():
    said = text(edge_rows(500, 510, 520, 300, 310))
    assert "With one tile per multiprocessor at a time, those computed together are a wave." in said
    assert (
        "n = 2048 takes 128 such tiles, 1 wave, one row and column more 153, one wave more" in said
    )


def test_the_figure_has_a_panel_per_sweep():
    rows = [row("sizes", 128, 1.0), *edge_rows(5, 5, 5, 3, 3), row("divisibility", 2047, 9.0)]
    drawn = SECTION.svg(written(rows))
    assert all(title in drawn for title in ("by size", "across a tile edge", "by what divides n"))
    assert "edge of 128x256, n = 2048" in drawn and "2 waves from n = 2080" in drawn
    assert "waves from" not in SECTION.svg(written(edge_rows(5, 5, 5, 3, 3)[:3]))


@pytest.mark.parametrize(
    ("name", "tile"),
    [
        (NVJET, "128x256"),
        ("nvjet_sm90_tst_64x8_64x16_4x1_v_bz_TNN", "64x8"),
        ("void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_256x128_32x3_nn>",
         "256x128"),
        ("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1",
         "128x128"),
        ("void gemv2T_kernel_val<int, int, float>", ""),
        ("aten::mm", ""),
    ],
)  # fmt: skip
def test_the_tile_in_a_kernels_name(name, tile):
    assert tile_of(name) == tile


def activity(name: str, busy_ns: int, calls: int = 1) -> dict:
    about = {"range": "", "kind": "kernel", "operator": "aten::mm"}
    return about | {"name": name, "calls": calls, "busy_ns": busy_ns}


def test_the_kernel_of_a_product_is_the_multiplication():
    names = {"short_name": "reduce", "family": "reduction", "precision_ran": ""}
    gemm = {"family": "gemm", "precision_ran": "bf16"}
    found = kernel_of(
        [
            activity("r", 9) | names,
            activity("a", 5, calls=2) | gemm | {"short_name": "gemm_a"},
            activity(NVJET, 7) | gemm | {"short_name": "gemm_b"},
        ]
    )
    assert found == {
        "kernel": "gemm_b",
        "tile": "128x256",
        "ran": "bf16",
        "kernels": 4,
        "busy_ms": pytest.approx(21e-6),
    }


def test_the_kernel_where_nothing_multiplied_or_ran():
    names = {"short_name": "fill", "family": "fill", "precision_ran": ""}
    assert kernel_of([activity("f", 9) | names])["kernel"] == "fill"
    nothing = {"kernel": "", "tile": "", "ran": "", "kernels": 0, "busy_ms": 0.0}
    assert kernel_of([]) == nothing


def test_what_is_derived_of_raw_rows(tmp_path):
    about = {"sweep": "edge", "precision": "bf16", "multiprocessors": 132, "edge": 2048}
    ok, oom = {"status": "ok", "reason": ""}, {"status": "oom", "reason": "full"}
    times = {"samples_ns": [40_000, 30_000, 20_000], "calls_per_sample": 3}
    ran = {"activities": [activity("memset", 2_000), activity(NVJET, 20_000)]}
    skipped = {"sweep": "sizes", "precision": "fp8", "status": "skipped", "reason": "no"}
    rows = [about | {"n": 2080} | ok | times | ran, about | {"n": 2049} | oom, skipped]
    found, gone, left = joined(tmp_path, rows)
    assert (found["samples"], found["median_ms"], found["calls_per_sample"]) == (3, 0.03, 3)
    assert found["tflops"] == pytest.approx(2 * 2080**3 / 30e3 / 1e3)
    assert (found["divisor"], found["tiles"], found["waves"]) == (32, 153, 2)
    assert (found["kernel"], found["tile"], found["ran"]) == (NVJET, "128x256", "bf16")
    assert (found["kernels"], found["busy_ms"]) == (2, 0.022)
    assert (gone["divisor"], gone["waves"], gone["tflops"]) == (1, None, None)
    assert left["divisor"] is left["waves"] is left["kernel"] is None


def test_points_have_ids_of_their_own():
    for device, scale in SIZES:
        ids = [point["point"] for point in points(device, scale, SETTINGS)]
        assert ids == ["sizes", "fine"]


def test_measuring_on_a_cpu(tmp_path):
    on_cpu = {"device": "cpu", "budget_ms": 1.0}
    sizes, fine = (point | on_cpu for point in points("cpu", "small", SETTINGS))
    raw = matmul_measure.measure(sizes | {"sizes": [16, 32]})
    about = ["sweep", "precision", "n", "status", "reason"]
    assert list(raw[0]) == [*about, "samples_ns", "calls_per_sample", "activities"]
    assert set(raw[0]["activities"][0]) == set(activity("", 0)), "names are derived, not measured"
    rows = joined(tmp_path, raw)
    assert [(r["precision"], r["n"], r["status"]) for r in rows] == [
        ("fp32", 16, "ok"), ("fp32", 32, "ok"), ("tf32", None, "skipped"),
        ("bf16", 16, "ok"), ("bf16", 32, "ok"), ("fp8", None, "skipped"),
    ]  # fmt: skip
    assert rows[1]["tflops"] == pytest.approx(2 * 32**3 / rows[1]["median_ms"] / 1e9)
    assert rows[1]["kernel"] == "aten::mm"
    edge, *divisors = joined(tmp_path, matmul_measure.measure(fine | {"near": 128}))
    assert (edge["sweep"], edge["status"]) == ("edge", "skipped")
    assert {r["divisor"] for r in divisors} == {1, 2, 8, 16, 32}


def test_the_fine_sweeps_of_a_gpu_are_around_its_edge(monkeypatch):
    """As on a GPU of 132 multiprocessors, of which only the number is asked here."""
    monkeypatch.setattr(
        torch.cuda,
        "get_device_properties",
        lambda index: type("Properties", (), {"multi_processor_count": 132}),
    )
    monkeypatch.setattr(
        matmul_measure, "measure_product", lambda n, precision, point: {"n": n, "status": "ok"}
    )
    fine = points("cuda", "full", SETTINGS)[1] | {"device": "cuda"}
    rows = matmul_measure.measure(fine)
    edge = [row for row in rows if row["sweep"] == "edge"]
    assert [row["n"] for row in edge] == list(range(1792, 2305, 32))
    assert {(row["multiprocessors"], row["edge"]) for row in edge} == {(132, 2048)}
    past, divided = rows[len(edge) : len(edge) + 3], rows[len(edge) + 3 :]
    assert [(row["sweep"], row["n"]) for row in past] == [
        ("past_edge", n) for n in (2048, 2049, 2056)
    ]
    assert [row["n"] for row in divided] == matmul_tiles.divisibility_sizes(2048)
    assert set(edge[0]) == {"sweep", "precision", "multiprocessors", "edge", "n", "status"}


@pytest.mark.parametrize(
    ("gpu", "detaches", "profiled", "said"),
    [
        ("NVIDIA H200", None, True, True),
        ("NVIDIA H200", False, True, True),
        ("NVIDIA H200", True, True, False),
        ("NVIDIA H200", None, False, False),
        ("", None, True, False),
    ],
)
def test_a_section_says_that_a_profiler_stayed_attached(
    tmp_path, gpu: str, detaches: bool | None, profiled: bool, said: bool
) -> None:
    activities = {"activities": []} if profiled else {}
    raw = {"sweep": "sizes", "precision": "fp32", "n": 64, "status": "skipped", "reason": "r"}
    result = {"point": {"point": "p"}, "rows": [raw | activities], "environment": {"gpu": gpu}}
    result |= {} if detaches is None else {"profiler_detaches": detaches}
    (tmp_path / "p.json").write_text(json.dumps(result))
    table = read_back(join([tmp_path / "p.json"], lambda point, rows: rows, RULES))
    assert ("profiler_stayed" in table) == said
    whole = STAYED.format(which="")
    assert SECTION.markdown(table, TEMPLATES).endswith(f"\n{whole}\n") == said
    assert stayed(table) == (f"\n{whole}\n" if said else "")
    detached = table.assign(point="q").drop(columns="profiler_stayed", errors="ignore")
    assert stayed(pd.concat([table, detached])) == (
        f"\n{STAYED.format(which=' (p)')}\n" if said else ""
    )


@pytest.mark.parametrize(
    ("gpu", "speeds", "said"),
    [
        ("NVIDIA H200", [(6.0, 6.5), (6.1, 9.3)], "6.00 to 9.30 us"),
        ("NVIDIA H200", [(6.0, 6.5), (6.1, 6.2)], ""),
        ("", [(6.0, 6.5), (6.1, 9.3)], ""),
        ("NVIDIA H200", [], ""),
    ],
)
def test_a_section_says_that_its_host_was_unsteady(
    tmp_path, gpu: str, speeds: list[tuple[float, float]], said: str
) -> None:
    raw = {"sweep": "sizes", "precision": "fp32", "n": 64, "status": "skipped", "reason": "r"}
    result = {"point": {"point": "p"}, "rows": [raw], "environment": {"gpu": gpu}}
    result["processes"] = [
        {
            side: {"host_operation_us": us}
            for side, us in zip(("before", "after"), pair, strict=True)
        }
        for pair in speeds
    ]
    (tmp_path / "p.json").write_text(json.dumps(result))
    text = unsteady(read_back(join([tmp_path / "p.json"], lambda point, rows: rows, RULES)))
    assert ("Unsteady host" in text) == bool(said) and said in text
