import io
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workflow_src.studies.join_points import join
from workflow_src.studies.matmul import analyze as matmul
from workflow_src.studies.matmul import tiles as matmul_tiles
from workflow_src.studies.repeats import plan_repeats
from workflow_src.studies.section import read_table, section

TEMPLATES = Path(__file__).parent.parent / "report_templates"
NVJET = "nvjet_tst_128x256_64x4_2x1_v_bz_coopA_NNN"


def row(sweep: str, n: int, tflops: float, **more) -> dict:
    times = {"median_ms": 2 * n**3 / tflops / 1e9, "p20_ms": 1.0, "p80_ms": 1.0, "busy_ms": 1.0}
    about = {"sweep": sweep, "precision": "bf16", "n": n, "divisor": matmul_tiles.divisor(n)}
    ran = {"kernel": NVJET, "tile": "128x256", "ran": "bf16", "status": "ok", "reason": ""}
    return about | times | ran | {"tflops": tflops} | more


def edge_rows(*rates: float, **more) -> list[dict]:
    about = {"multiprocessors": 132, "edge": 2048} | more
    sizes = range(2048 - 32 * (len(rates) // 2), 4096, 32)
    pairs = zip(sizes, rates, strict=False)
    return [row("edge", n, r, **about, waves=matmul_tiles.waves(n, 132)) for n, r in pairs]


def written(rows: list[dict], gpu: str = "NVIDIA H200") -> pd.DataFrame:
    """The table of `rows` as a section reads it."""
    result = {"point": {"point": "p"}, "rows": rows, "environment": {"gpu": gpu}}
    return read_table(io.StringIO(join([result], False).to_csv(index=False)))  # type: ignore[arg-type]


def text(rows: list[dict], gpu: str = "NVIDIA H200") -> str:
    return section("matmul", written(rows, gpu), TEMPLATES)


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
    classes = pd.Series([matmul_tiles.divisor(n) for n in fine]).value_counts().to_dict()
    assert classes == {32: 4, 16: 4, 8: 8, 2: 16, 1: 21}
    assert {matmul_tiles.tiles(n) for n in fine} == {128}


def test_waves_alone_take_almost_half_past_the_edge():
    expected = 1 - (2080**2 / 2) / 2048**2
    assert matmul_tiles.expected_drop(2048, 2080, 132) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("rough_ms", "repeats"),
    [(0.01, (100, 50)), (0.1, (10, 50)), (4.0, (1, 25)), (200.0, (1, 5))],
)
def test_repeats_follow_the_budget(rough_ms, repeats):
    assert plan_repeats(rough_ms, budget_ms=100.0, sample_ms=1.0) == repeats


def test_peaks_with_the_datasheet_of_a_known_gpu():
    rows = [row("sizes", n, r) for n, r in ((128, 1.0), (512, 300.0), (1024, 494.5), (2048, 600))]
    (peak,) = matmul.summarize(written(rows))["peaks"]
    assert (peak["tflops"], peak["n"], peak["half_from"]) == (600, 2048, 512)
    assert peak["of_datasheet"] == pytest.approx(600 / 989)
    said = text(rows)
    assert "600 TFLOP/s in bf16 at n = 2048 (60.7 % of the datasheet's dense 989)" in said
    assert "n = 512 on in bf16" in said
    assert "82.4 %" in said


def test_a_gpu_without_datasheet_has_no_such_column():
    said = text([row("sizes", 128, 1.0)], gpu="NVIDIA H100 PCIe")
    assert "datasheet" not in said


def test_half_is_reached_only_where_no_larger_size_falls_below():
    rows = [row("sizes", n, r) for n, r in ((128, 60.0), (256, 10.0), (512, 100.0), (1024, 70.0))]
    assert matmul.peaks(matmul.sweep(written(rows), "sizes"))[0]["half_from"] == 512


def test_launch_bound_sizes_and_another_precision_are_named():
    rows = [
        row("sizes", 128, 1.0, median_ms=1.0, busy_ms=0.2, ran="tf32"),
        row("sizes", 256, 2.0, median_ms=1.0, busy_ms=0.6),
    ]
    summary = matmul.summarize(written(rows))
    assert (summary["launch_bound"], summary["other_precision"]) == (128, ["bf16 (tf32)"])
    assert "Up to n = 128 there are products" in text(rows)
    assert matmul.summarize(written(rows, gpu=""))["launch_bound"] == 0


@pytest.mark.parametrize(
    ("rates", "verdict", "after", "said"),
    [
        ((500, 510, 520, 300, 310), "at_edge", 2048, "wave quantization shows at the edge"),
        ((500, 300, 320, 330, 340), "elsewhere", 1984, "not where the assumed tile puts it"),
        ((500, 300, 400, 360, 340), "elsewhere", 1984, "not the only one"),
        ((500, 505, 510, 500, 515), "none", 2048, "wave quantization is not seen"),
    ],
)
def test_the_verdict_on_the_edge(rates, verdict, after, said):
    rows = edge_rows(*rates)
    found = matmul.summarize(written(rows))["edge"]
    assert (found["drop"], found["largest_after"]) == (verdict, after)
    assert found["at_edge"] == pytest.approx(1 - rates[3] / rates[2])
    assert said in text(rows)


def test_names_bear_the_assumed_tile_out_or_not():
    rows = edge_rows(500, 510, 520, 300, 310)
    rows[0]["tile"], rows[1]["tile"], rows[2]["tile"] = "256x128", "128x128", ""
    assert "3 of 4 kernels' names that hold a tile hold this one" in text(rows)


def test_an_edge_that_ran_out_of_memory_has_no_verdict():
    rows = edge_rows(500, 510, 520, 300, 310)
    kept = [r for r in rows if r["n"] != 2048]
    lost = {"status": "oom", "reason": "CUDA out of memory", "tflops": None}
    assert matmul.summarize(written([*kept, rows[2] | lost]))["edge"] is None
    assert "Out of memory: bf16 n = 2048" in text([*kept, rows[2] | lost])


def test_divisors_by_their_medians():
    rows = [row("divisibility", n, r) for n, r in ((2048, 600), (2047, 100), (2045, 200))]
    rows += [row("divisibility", n, r) for n, r in ((2046, 300), (2016, 580))]
    found = matmul.divisor_classes(matmul.sweep(written(rows), "divisibility"))
    assert {r["divisor"]: (r["tflops"], r["sizes"]) for r in found} == {
        32: (590, 2),
        2: (300, 1),
        1: (150, 2),
    }
    said = text(rows)
    assert "largest divisor is 32 are fastest (median 590 TFLOP/s), those with 1 slowest" in said
    assert "never falls" in said


def test_divisors_that_do_not_matter():
    rows = [row("divisibility", n, r) for n, r in ((2048, 600), (2047, 590))]
    assert "no divisor's median rate differs from another's by 5 % or more" in text(rows)


def test_rates_that_do_not_rise_with_the_divisor():
    rows = [row("divisibility", n, r) for n, r in ((2048, 500), (2047, 300), (2046, 600))]
    assert "does not always rise" in text(rows)


def test_nothing_measured_is_said(tmp_path):
    rows = [{"sweep": "sizes", "precision": "fp8", "status": "skipped", "reason": "needs more"}]
    said = text(rows)
    assert "No product was measured." in said
    assert "Skipped: fp8 sizes: needs more." in said
    matmul.draw(written(rows), tmp_path / "a.svg")
    assert "no product was measured" in (tmp_path / "a.svg").read_text()


def test_the_figure_has_a_panel_per_sweep(tmp_path):
    rows = [row("sizes", 128, 1.0), *edge_rows(5, 5, 5, 3, 3), row("divisibility", 2047, 9.0)]
    matmul.draw(written(rows), tmp_path / "a.svg")
    drawn = (tmp_path / "a.svg").read_text()
    assert all(title in drawn for title in ("by size", "across a tile edge", "by what divides n"))


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
    from workflow_src.studies.matmul.measure import tile_of

    assert tile_of(name) == tile


def test_the_kernel_of_a_product_is_the_multiplication():
    from workflow_src.studies.matmul.measure import kernel_of

    short = ["reduce", "gemm_a", "gemm_b"]
    families, times = ["reduction", "gemm", "gemm"], [9, 5, 7]
    columns = {"name": ["r", NVJET, NVJET], "short_name": short}
    found = kernel_of(pd.DataFrame(columns | {"family": families, "duration_ns": times}))
    assert (found["kernel"], found["kernels"], found["ran"]) == ("gemm_b", 3, "bf16")
    assert found["busy_ms"] == pytest.approx(21e-6)


def test_points_have_ids_of_their_own():
    for device, scale in matmul.SIZES:
        ids = [point["point"] for point in matmul.points(device, scale)]
        assert ids == ["sizes", "fine"]


def test_measuring_on_a_cpu(monkeypatch):
    from workflow_src.studies.matmul import measure as matmul_measure

    monkeypatch.setitem(matmul_measure.BUDGET_MS, "cpu", 1.0)
    sizes, fine = matmul.points("cpu", "small")
    rows = matmul.measure(sizes | {"device": "cpu", "sizes": [16, 32], "point": "sizes"})
    assert [(r["precision"], r.get("n"), r["status"]) for r in rows] == [
        ("fp32", 16, "ok"), ("fp32", 32, "ok"), ("tf32", None, "skipped"),
        ("bf16", 16, "ok"), ("bf16", 32, "ok"), ("fp8", None, "skipped"),
    ]  # fmt: skip
    assert rows[1]["tflops"] == pytest.approx(2 * 32**3 / rows[1]["median_ms"] / 1e9)
    assert rows[1]["kernel"] == "aten::mm"
    edge, *divisors = matmul.measure(fine | {"device": "cpu", "near": 128})
    assert (edge["sweep"], edge["status"]) == ("edge", "skipped")
    assert {r["divisor"] for r in divisors} == {1, 2, 8, 16, 32}
