"""Answer (a): times measured on hosts of several kinds are told apart."""

import pandas as pd
import pytest

from tests.questions import answer_question
from tests.synthetic_tables import Sample, write_tables
from tests.test_answer_a import ROOT, TEMPLATES
from tests.test_answer_a_replay import paragraph
from workflow_src.answers import hosts, one_case
from workflow_src.answers.answer import Answer, Fact
from workflow_src.answers.provenance import unsupported

THE_REST = "; the GPU's part of a time should be nearly the same on each, the rest is the host's."


@pytest.fixture
def ask(tmp_path):
    def asked(*samples: Sample) -> tuple[Answer, str]:
        return answer_question("a", write_tables(tmp_path, *samples), TEMPLATES)

    return asked


def on(context: int, cores: int | None = None, us: float | None = None, **others) -> Sample:
    """A case on a host with so many cores, on which a launch takes `us`."""
    environment = {"cpu_cores": cores, "host_launch_us_before": us}
    if "cpu" in others:
        environment["cpu"] = others.pop("cpu")
    return Sample(context=context, environment=environment, **others)


def matrix(text: str) -> list[str]:
    """The cells of the first table's only line."""
    (line, *_) = [line for line in text.splitlines() if line.startswith("| small ")]
    return [cell.strip() for cell in line.strip("|").split("|")][1:]


def sentence(text: str) -> str:
    return paragraph(text, "†")


def test_with_one_kind_of_host_the_text_is_that_without_any_record_of_hosts(tmp_path):
    folder = write_tables(tmp_path, on(128, 64, 4.0), on(256, 64, 4.3))
    answer, text = answer_question("a", folder, TEMPLATES)
    assert matrix(text) == ["12.0 ms (100 %)"] * 2 and "host with" not in text
    assert answer.summary["hosts"] == {"marks": {}, "marked": [], "slow": None}
    assert not any(fact.table == "environments" for fact in answer.facts)
    (folder / "environments.csv").unlink()
    assert answer_question("a", folder, TEMPLATES)[1] == text


def test_rows_in_which_a_longer_context_takes_less_time_are_counted(ask):
    """Only where hosts differ: one of two rows, and none if its times rise."""
    faster, slower = (Sample().median_ms | {"forward": ms} for ms in (10.0, 13.0))
    other = [on(128, 64, size="medium"), on(256, 64, size="medium")]
    said = "a median is shorter at a longer context, by more than the processes of a case, or one"
    assert (
        f"In 1 of the 2 rows {said}" in ask(on(128, 64), on(256, 16, median_ms=faster), *other)[1]
    )
    assert said not in ask(on(128, 64), on(256, 16, median_ms=slower))[1]
    assert said not in ask(on(128, 64), on(256, 64, median_ms=faster))[1]


def test_times_are_told_apart_only_where_processes_or_samples_do_not_overlap(ask):
    """Samples are 95 to 110 % of a median: those of 30 and 28 ms overlap, of 30 and 20 don't."""
    slow, near, fast = (Sample().median_ms | {"forward": ms} for ms in (30.0, 28.0, 20.0))
    short, like = on(128, 64, median_ms=slow), on(256, 16, median_ms=near)
    assert "at a longer context, but by no more than the processes" in ask(short, like)[1]
    other = on(128, 64, size="medium", median_ms=slow)
    for ms, found in ((near, "none"), (fast, "1")):
        _, text = ask(short, like, other, on(256, 64, size="medium", median_ms=ms))
        assert f"at a longer context, in {found} of them by more than the processes of a" in text


def test_where_a_gpu_works_longer_a_shorter_time_is_said_to_have_less_idle_time(ask):
    slow, fast = (Sample().median_ms | {"forward": ms} for ms in (30.0, 20.0))
    worked = {ms: Sample().times_ms | {"forward": (35.0, ms, 34.0)} for ms in (10.0, 12.0)}
    other = [on(128, 64, size="medium"), on(256, 64, size="medium")]
    short = on(128, 64, median_ms=slow, times_ms=worked[10.0])
    _, text = ask(short, on(256, 16, median_ms=fast, times_ms=worked[12.0]), *other)
    assert (
        "In 1 of the 2 rows a median is shorter at a longer context, by more than the processes of "
        "a case, or one process's samples, differ. The GPU works longer there, so what is shorter "
        "is the time in which it is idle."
    ) in text


def test_replays_that_take_longer_where_times_are_shorter_show_that_the_host_is_why(ask):
    slow, fast = (Sample().median_ms | {"forward": ms} for ms in (30.0, 20.0))
    worked = {ms: Sample().times_ms | {"forward": (35.0, ms, 34.0)} for ms in (10.0, 12.0)}
    said = "Replayed, the pass takes longer at the longer context, so the host's work is what makes"
    for replayed, shown in ((12.5, True), (10.0, False)):
        short, long = (
            on(128, 64, median_ms=slow, times_ms=worked[10.0], replayed_ms={"forward": 10.5}),
            on(256, 16, median_ms=fast, times_ms=worked[12.0], replayed_ms={"forward": replayed}),
        )
        assert (said in ask(short, long)[1]) == shown


def test_times_of_different_hosts_are_said_to_be_comparable_where_the_gpu_works(ask):
    said = "compare two times only where the GPU works for nearly all of both"
    assert said in ask(on(128, 64), on(256, 16))[1]
    assert said not in ask(on(128, 64), on(256, 64))[1]
    assert said not in ask(on(128, 64, device="cpu"), on(256, 16, device="cpu"))[1]
    other = Sample(context=256, environment={"cpu_cores": 16, "gpu": "Other GPU"})
    assert said not in ask(on(128, 64), other)[1]


def test_the_times_of_another_kind_of_host_are_marked(ask):
    _, text = ask(on(128, 64), on(256, 16), on(512, 64))
    assert matrix(text) == ["12.0 ms (100 %)", "12.0 ms (100 %)†", "12.0 ms (100 %)"]
    said = "† measured on a host with 16 CPU cores, all others with 64"
    assert sentence(text) == said + THE_REST


def test_of_three_kinds_two_are_marked_and_the_speed_of_launches_is_said_where_known(ask):
    answer, text = ask(
        on(128, 16, 3.5), on(256, 64), on(512, 32, 3.6), on(1024, 64), on(2048, 32, 3.7)
    )
    # Both 64 and 32 have two cases, and the kind with more cores is the usual one.
    assert [cell[-1] for cell in matrix(text)] == ["‡", ")", "†", ")", "†"]
    assert sentence(text) == (
        "† measured on a host with 32 CPU cores (a launch takes a median of 3.65 us there), ‡ with "
        "16 (a launch takes 3.50 us there), all others with 64" + THE_REST
    )
    assert unsupported(text, answer.as_dict()) == []


def test_what_the_sentence_says_are_facts_with_their_rows(ask):
    answer, _ = ask(on(128, 16, 3.5), on(256, 64))
    case = Sample().case
    assert [fact for fact in answer.facts if fact.table == "environments"] == [
        Fact(case, "cpu_cores", 16, "", "environments", (2,)),
        Fact(case, "host_launch_us", 3.5, "us", "environments", (2,)),
        Fact(Sample(context=256).case, "cpu_cores", 64, "", "environments", (3,)),
    ]


def test_which_kind_is_usual_does_not_depend_on_the_order_of_cases(ask):
    for cores in ((16, 64), (64, 16)):
        _, text = ask(*(on(128 * 2**place, each) for place, each in enumerate(cores)))
        assert [cell[-1] for cell in matrix(text)] == [")" if c == 64 else "†" for c in cores]


def test_hosts_with_as_many_cores_are_told_apart_by_their_cpu(ask):
    answer, text = ask(on(128, 64, cpu="EPYC 9554"), on(256, 64), on(512, 64))
    said = "† measured on a host with the CPU EPYC 9554, all others with the CPU Some CPU"
    assert sentence(text) == said + THE_REST
    assert unsupported(text, answer.as_dict()) == []


def test_where_cores_and_cpu_vary_both_are_said(ask):
    _, text = ask(on(128, 1, 4.0, cpu="EPYC"), on(256, 64), on(512, 64))
    assert sentence(text).startswith(
        "† measured on a host with 1 CPU core (EPYC; a launch takes 4.00 us there), all others "
        "with 64 (Some CPU); "
    )


def test_a_host_that_was_not_recorded_is_a_kind_of_its_own(ask):
    _, text = ask(on(128), on(256, 64), on(512, 64))
    said = "† measured on a host with an unrecorded number of CPU cores, all others with 64"
    assert sentence(text) == said + THE_REST
    _, text = ask(on(128), on(256), on(512, 64))
    said = "† measured on a host with 64 CPU cores, all others with an unrecorded number"
    assert sentence(text) == said + THE_REST


def test_a_case_without_a_time_has_no_mark_and_no_host(ask):
    without = {"forward": ("oom", "CUDA out of memory")}
    _, text = ask(on(128, 64), on(256, 16, status=without))
    assert matrix(text) == ["12.0 ms (100 %)", "OOM"] and "host with" not in text


def test_on_several_gpus_nothing_is_said_of_the_gpu_s_part(ask):
    other = Sample(context=256, environment={"cpu_cores": 16, "gpu": "Other GPU"})
    _, text = ask(on(128, 64), other, on(512, 64))
    assert sentence(text) == "† measured on a host with 16 CPU cores, all others with 64."


def test_on_a_cpu_all_of_a_time_depends_on_the_host(ask):
    _, text = ask(*(on(128 * 2**n, cores, device="cpu") for n, cores in enumerate((64, 16, 64))))
    assert sentence(text).endswith("all others with 64; all of a time depends on the host.")


def test_times_on_a_slower_host_are_marked_after_the_mark_of_its_kind(ask):
    answer, text = ask(on(128, 64, 4.0), on(256, 64, 4.5), on(512, 16, 6.0), on(1024, 64))
    assert [cell.partition(")")[2] for cell in matrix(text)] == ["", "°", "†°", ""]
    assert (
        "\n° a launch took 4.50 to 6.00 us before the case, over 10 % longer than before the "
        "case where it took least (measured in 3 of 4 cases): 4.00 us.\n"
    ) in text
    assert unsupported(text, answer.as_dict()) == []


def test_where_most_hosts_were_slower_the_others_are_marked(ask):
    answer, text = ask(on(128, 64, 4.0), on(256, 64, 4.5), on(512, 64, 4.1), *(
        on(context, 64, 6.0) for context in (1024, 2048)
    ))  # fmt: skip
    assert [cell.partition(")")[2] for cell in matrix(text)] == ["°", "", "°", "", ""]
    assert (
        "\n° on a fast host: a launch took 4.00 to 4.10 us before the case, and 4.50 to 6.00 us "
        "before each of the others, over 10 % longer than the least.\n"
    ) in text
    assert unsupported(text, answer.as_dict()) == []


def test_a_slower_host_of_the_only_kind_is_told_by_its_operations_where_nothing_is_launched(ask):
    slow = [
        Sample(context=128 * 2**n, environment={"host_operation_us_before": us}, device="cpu")
        for n, us in enumerate((1.5, 1.6, 3.0))
    ]
    answer, text = ask(*slow)
    assert [cell[-1] for cell in matrix(text)] == [")", ")", "°"]
    said = "° an eager operation took 3.00 us before the case, over 10 % longer than before the "
    assert f"\n\n{said}case where it took least: 1.50 us.\n" in text
    facts = [f.value for f in answer.facts if f.name == "host_operation_us"]
    assert facts == [1.5, 1.6, 3.0] and unsupported(text, answer.as_dict()) == []


def test_marks_are_doubled_after_the_third():
    assert [hosts.mark_of(place) for place in range(5)] == ["†", "‡", "§", "††", "‡‡"]


def test_one_case_is_of_one_kind_of_host(tmp_path):
    short, long = on(128, 16), on(256, 64)
    folder = write_tables(tmp_path, short, long, on(512, 64))
    for sample in (short, long):
        text = one_case.answers(one_case.tables_of(folder, sample.front), TEMPLATES)["a"]
        assert matrix(text) == ["12.0 ms (100 %)"] and "†" not in text


def test_the_published_cases_carry_the_mark_of_their_host():
    folder = ROOT / "examples" / "h200" / "tables"
    environments = pd.read_csv(folder / "environments.csv").set_index("case")
    answer, text = answer_question("a", folder, TEMPLATES)
    assert unsupported(text, answer.as_dict()) == []
    found = answer.summary["hosts"]
    if not found["marked"]:
        assert len(environments.groupby(["cpu", "cpu_cores"])) == 1
        return
    kinds = {each["mark"]: each for each in (*found["marked"], found["usual"])}
    for case, row in environments.iterrows():
        said = kinds[found["marks"].get(case, "").rstrip(hosts.SLOW)]
        assert (said["cpu"], said["cores"]) == (row["cpu"], row["cpu_cores"])
    for each in found["marked"]:
        mine = environments[environments["cpu_cores"] == each["cores"]]["host_launch_us_before"]
        known = mine.dropna()
        assert each["launch_us"] == (pytest.approx(known.median()) if len(known) else None)
