"""The calculator: exact numbers, and a one-sentence error for invalid input."""

import pytest
from workflow_src.studies.accounting.estimates import example

from workflow_src.cli.calculator import main
from workflow_src.model.estimates import largest_parameters, train_seconds

TIME = ["train-time", "--parameters", "7e9", "--tokens", "1e12", "--devices", "64"]


def test_train_time_by_hand() -> None:
    # 6 x 10 x 100 = 6000 FLOPs, on 2 devices at half of 100 FLOP/s each.
    assert train_seconds(10, 100, devices=2, peak_flops=100, mfu=0.5) == 60.0


def test_largest_model_by_hand() -> None:
    assert largest_parameters(163, 0) == 10
    assert largest_parameters(160, 33) == 7
    with pytest.raises(ValueError, match="leave no memory"):
        largest_parameters(160, 160)


def test_train_time_prints_the_formula_with_its_numbers(capsys: pytest.CaptureFixture) -> None:
    main([*TIME, "--peak-tflops", "989", "--mfu", "0.4"])
    said = capsys.readouterr().out
    assert "6 x 7e+09 x 1e+12 / (64 x 989e12 FLOP/s x 0.4)" in said
    assert "1,658,873 s = 461 hours = 19.2 days" in said


def test_counts_may_end_in_a_letter(capsys: pytest.CaptureFixture) -> None:
    rest = ["--devices", "64", "--peak-tflops", "989", "--mfu", "0.4"]
    for parameters, tokens in (("7B", "1T"), ("0.007T", "1000B"), ("7000M", "1e12")):
        main(["train-time", "--parameters", parameters, "--tokens", tokens, *rest])
        said = capsys.readouterr().out
        assert "6 x 7e+09 x 1e+12 / (64 x 989e12 FLOP/s x 0.4)" in said


def test_largest_model_prints_the_formula_with_its_numbers(capsys: pytest.CaptureFixture) -> None:
    main(["largest-model", "--memory-gib", "80"])
    said = capsys.readouterr().out
    assert "(80 - 0) x 2^30 / 16" in said and "5,368,709,120 = 5.37 billion" in said
    assert "Activations are left out" in said
    main(["largest-model", "--memory-gib", "80", "--activation-gib", "40"])
    said = capsys.readouterr().out
    assert "2,684,354,560" in said and "left out" not in said


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([*TIME, "--peak-tflops", "989", "--mfu", "40"], "--mfu: must be above 0 and at most 1"),
        ([*TIME, "--peak-tflops", "0", "--mfu", "1"], "--peak-tflops: must be a finite number"),
        ([*TIME, "--peak-tflops", "inf", "--mfu", "1"], "--peak-tflops: must be a finite number"),
        ([*TIME, "--mfu", "1"], "--peak-tflops"),
        (["largest-model", "--memory-gib", "much"], "not 'much'"),
        (["largest-model", "--memory-gib", "nan"], "not 'nan'"),
        (["largest-model", "--memory-gib", "1", "--activation-gib", "-1"], "not '-1'"),
        (["largest-model", "--memory-gib", "1", "--activation-gib", "1"], "leave no memory"),
        (
            ["train-time", "--parameters", "7X"],
            "a finite number above 0, such as 7e9 or 7B, not '7X'",
        ),
        (["train-time", "--parameters", "B"], "such as 7e9 or 7B, not 'B'"),
        (["train"], "invalid choice: 'train'"),
        ([], "train-time|largest-model"),
    ],
)
def test_bad_input_gives_a_one_sentence_error(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    said = capsys.readouterr().err or str(ended.value.code)
    assert sentence in said and len(said.strip().splitlines()) == 1
    assert ended.value.code not in (0, None)


def test_zero_activations_are_allowed(capsys: pytest.CaptureFixture) -> None:
    main(["largest-model", "--memory-gib", "1", "--activation-gib", "0"])
    assert "67,108,864" in capsys.readouterr().out


def test_the_accounting_studys_examples_are_of_its_largest_model_in_its_fastest_precision() -> None:
    models = [
        {"size": size, "precision": precision, "parameters": n}
        for size, n in {"small": 1e9, "large": 2e9}.items()
        for precision in ("fp32", "bf16")
    ]
    timed = {("small", "bf16"): 1.0, ("large", "fp32"): 9.0, ("large", "bf16"): 4.0}
    steps = [
        {"size": size, "precision": precision, "median_ms": ms, "mfu": 0.5, "peak_mib": 40 * 1024}
        for (size, precision), ms in timed.items()
    ]
    rates = {"fp32": (50.0, 4000.0), "bf16": (800.0, 4000.0)}
    found = example(models, steps, rates)
    assert found and (found["size"], found["precision"]) == ("large", "bf16")
    # 6 x 2e9 x 40e9 FLOPs at 400e12 FLOP/s are 1.2e6 s.
    assert found["days"] == pytest.approx(1.2e6 / 86_400)
    assert found["fits_billion"] == 80 * 2**30 / 16 / 1e9
    assert (found["state_gib"], found["peak_gib"]) == (32e9 / 2**30, 40.0)
    assert example(models, steps, {"fp8": (1.0, 1.0)}) is None
