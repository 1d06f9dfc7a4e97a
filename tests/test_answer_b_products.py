"""Answer (b) by product: which of the model's products the top kernels run, with their sizes."""

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from tests.questions import answer_question
from tests.synthetic_tables import Product, Sample, write_tables
from tests.test_answer_b import BOTH_B, FORWARD_B, TEMPLATES, XMMA, add_layers, casting, fact
from workflow_src.answers import one_case
from workflow_src.answers.answer import Fact
from workflow_src.answers.kernel_products import against_forward, label
from workflow_src.answers.provenance import unsupported
from workflow_src.common.case import CASE_COLUMNS

TN, NN = XMMA.format("tn"), XMMA.format("nn")
UP, OUT, HEAD = (512, 3072, 768, 1), (512, 768, 768, 1), (512, 1000, 768, 1)
FORWARD: list[Product] = [
    ("gate", "forward", UP, TN, 12, 3_000_000),
    ("up", "forward", UP, TN, 11, 1_900_000),
    ("block", "forward", UP, TN, 1, 100_000),
    ("output", "forward", OUT, TN, 12, 2_000_000),
    ("head", "forward", HEAD, TN, 1, 1_000_000),
]
BACKWARD: list[Product] = [
    ("gate", "input gradient", (512, 768, 3072, 1), NN, 12, 3_500_000),
    ("up", "input gradient", (512, 768, 3072, 1), NN, 12, 3_500_000),
    ("scores", "input gradient", (128, 64, 128, 48), NN, 12, 1_500_000),
    ("head", "input gradient", (512, 768, 1000, 1), NN, 1, 500_000),
]
KNOWN = {"forward": FORWARD, "forward_backward": [*FORWARD, *BACKWARD]}


def known(products=KNOWN, **others) -> Sample:
    """A case whose kernels have cuBLAS's names and whose products are recorded."""
    kernels = {"forward": FORWARD_B, "forward_backward": BOTH_B}
    return Sample(kernels=kernels, products=products, **others)


@pytest.fixture
def ask(tmp_path):
    def asked(*samples: Sample):
        folder = write_tables(tmp_path, *samples)
        add_layers(folder, 12)
        return answer_question("b", folder, TEMPLATES)

    return asked


def by_hand(text: str) -> str:
    """What is worked by hand, without its table, as one paragraph."""
    (found,) = [part for part in text.split("\n\n") if part.startswith(("24 + ", "8.000 of"))]
    return " ".join(found.split())


def cells(text: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines()]


def test_each_product_of_the_top_kernel_is_shown_with_its_sizes_calls_and_time(ask):
    answer, text = ask(known())
    rows = cells(text)
    gate = ["feed-forward gate and up", "512 x 3072 x 768", "24", "2 x 12 layers", "5.000"]
    assert ["forward", *gate, "50.0 %"] in rows
    head = ["output head", "512 x 1000 x 768", "1", "\N{EN DASH}", "1.000", "10.0 %"]
    assert ["forward", *head] in rows
    assert ["forward", "together", "", "37", "3 x 12 layers + 1", "8.000", "80.0 %"] in rows
    assert by_hand(text).startswith("24 + 12 + 1 = 37 calls, and 8.000 of 10.00 ms are 80.0 %.")
    assert not unsupported(text, answer.as_dict())


def test_backward_by_hand_says_which_gradients_and_whose(ask):
    _, text = ask(known())
    gate = ["input gradient of feed-forward gate and up", "512 x 768 x 3072", "24", "2 x 12 layers"]
    assert ["backward", *gate, "7.000", "35.0 %"] in cells(text)
    scores = ["input gradient of QK^T", "128 x 64 x 128, batch of 48", "12", "1 x 12 layers"]
    assert ["backward", *scores, "1.500", "7.5 %"] in cells(text)
    together = ["backward", "together", "", "37", "3 x 12 layers + 1", "9.000", "45.0 %"]
    assert together in cells(text)
    assert (
        "In backward it is another: 37 calls (3 x 12 layers + 1), 9.000 of 20.00 ms, 45.0 %. The "
        "multiplications differ: these are gradients of products on the forward pass's top kernel "
        "(feed-forward gate and up, output head) and of products that ran on others there (QK^T). "
        "In both together it is backward's again: 37 calls (3 x 12 layers + 1), 9.000 of 30.00 ms, "
        "30.0 %."
    ) in by_hand(text)


def test_more_gradients_than_a_sentence_can_name_are_in_a_table(ask):
    turned: list[Product] = [
        (name, "input gradient", (n, 768, 512, 1), TN, 1, 10_000)
        for n, name in enumerate(("gate", "up", "qkv", "values", "scores"), 769)
    ]
    gradient = ("forward_backward/backward", TN, "gemm", 5, 50_000)
    both = [(f"forward_backward/{path}", *rest) for path, *rest in FORWARD_B] + [gradient]
    sample = known({"forward": FORWARD, "forward_backward": [*FORWARD, *turned]})
    both += [("forward_backward/backward", "other", "gemm", 1, 60_000)]
    answer, text = ask(replace(sample, kernels=sample.kernels | {"forward_backward": both}))
    assert "besides those products it runs the gradients listed in the appendix." in by_hand(text)
    row = ["input gradient", "feed-forward gate", "769 x 768 x 512", "1", "0.01000"]
    assert row in cells(text)
    assert not unsupported(text, answer.as_dict())


def test_products_are_facts_with_their_rows(ask):
    answer, _ = ask(known())
    name = "forward/feed-forward gate and up, 512 x 3072 x 768"
    case = Sample().case
    assert fact(answer, f"{name}/calls") == Fact(
        case, f"{name}/calls", 24.0, "calls", "products", (2, 3, 4)
    )
    assert fact(answer, f"{name}/ms").value == pytest.approx(5.0)
    assert fact(answer, f"{name}/sizes").value == "512 x 3072 x 768"


def test_a_kernel_of_forward_that_computes_gradients_too_says_which(ask):
    gradient = ("forward_backward/backward", TN, "gemm", 12, 1_000_000)
    both = [(f"forward_backward/{path}", *rest) for path, *rest in FORWARD_B] + [gradient]
    turned: Product = ("values", "input gradient", (128, 128, 64, 48), TN, 12, 1_000_000)
    sample = Sample(
        kernels={"forward": FORWARD_B, "forward_backward": both},
        products={"forward": FORWARD, "forward_backward": [*FORWARD, turned]},
    )
    _, text = ask(sample)
    assert (
        "In both together it is the forward pass's again: 49 calls (4 x 12 layers + 1), 9.000 of "
        "11.00 ms, 81.8 %; besides those products it runs the input gradients (tn) of AV (128 x "
        "128 x 64, batch of 48; 12 calls)."
    ) in by_hand(text)


def test_over_several_cases_products_are_counted_by_precision(ask):
    alike = {"forward": FORWARD, "forward_backward": BACKWARD[2:3]}
    answer, text = ask(known(), known(context=256), known(alike, context=512), casting())
    products = "feed-forward gate and up: 3; attention output projection: 3; output head: 3"
    assert ["fp32", "3", products, "2", "input gradient: 2", "some: 2"] in cells(text)
    assert (
        "Backward's are gradients: their factors are other matrices, so no multiplication is the "
        "forward pass's. In both cases some or all are gradients of products that ran on another "
        "kernel in the forward pass."
    ) in text
    assert not unsupported(text, answer.as_dict())


def test_one_of_two_products_is_one_of_those_with_its_sizes_or_said_to_be_either(ask):
    mixed = [("gate or up", *FORWARD[2][1:]) if row[0] == "block" else row for row in FORWARD]
    assert ask(known({"forward": mixed}))[1] == ask(known({"forward": FORWARD}))[1]
    only = [("gate or up", *FORWARD[0][1:]), *FORWARD[3:]]
    only[0] = (*only[0][:4], 24, 5_000_000)
    row = ["feed-forward gate or up", "512 x 3072 x 768", "24"]
    assert row in [each[:3] for each in cells(ask(known({"forward": only}))[1])]


def test_a_gradient_of_either_of_two_products_is_one_of_those_that_ran_forward():
    forward, backward = ({"products": [{"names": [n]}]} for n in ("up", "gate or up"))
    assert against_forward(forward, backward) == {"shared": ["up"], "others": ["gate"]}
    both = {"products": [{"names": ["gate", "up"]}]}
    assert against_forward(both, backward) == {"shared": ["gate", "up"], "others": []}


def test_products_that_dont_account_for_every_call_are_left_out(ask):
    fewer = {"forward": FORWARD[1:], "forward_backward": BACKWARD[1:]}
    assert ask(known(fewer))[1] == ask(known({}))[1]


def test_an_older_run_without_products_says_what_it_said(tmp_path):
    folder = write_tables(tmp_path, known({}), known({}, context=256))
    _, text = answer_question("b", folder, TEMPLATES)
    (folder / "products.csv").unlink()
    assert answer_question("b", folder, TEMPLATES)[1] == text
    assert "roduct**" not in text and "M x N x K" not in text and "multiplications" not in text
    assert "aren't told apart by component. The same multiplication" in text


def test_the_example_worked_by_hand_has_products(ask):
    _, text = ask(known({}), known(context=256), known({}, context=512))
    assert "**By hand**, for small, context 256, the example" in text


def test_a_cases_own_tables_say_the_same(tmp_path):
    sample = known()
    joined = write_tables(tmp_path / "joined", sample)
    own = tmp_path / "own"
    own.mkdir()
    for path in joined.glob("*.csv"):
        table = pd.read_csv(path)
        table = table.drop(columns=[c for c in CASE_COLUMNS if c in table])
        table.to_csv(own / path.name, index=False)
    texts = [case_text(folder, sample) for folder in (joined, own)]
    assert texts[0] == texts[1]
    assert "512 x 3072 x 768" in texts[0]


def case_text(folder: Path, sample: Sample) -> str:
    tables = one_case.tables_of(folder, sample.front)
    return one_case.case_text(sample.front, tables, TEMPLATES)


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (["scores"], "QK^T"),
        (["gate", "up", "down"], "feed-forward gate, up and down"),
        (["output", "gate", "up", "head"],
         "attention output projection, feed-forward gate and up, output head"),
        (["gate or up"], "feed-forward gate or up"),
        ([], "other products"),
    ],
)  # fmt: skip
def test_products_in_words(names, text):
    assert label(names) == text
