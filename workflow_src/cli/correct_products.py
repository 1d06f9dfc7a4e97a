"""Correct a products.csv whose products were named by ranges alone and whose calls were kernels'.

A capture and a benchmark are large and may be gone, while the table has what names are told by.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from workflow_src.common.arguments import Parser, existing_folder
from workflow_src.common.atomic_write import write_csv
from workflow_src.common.case import CASE_COLUMNS, Case
from workflow_src.common.errors import StageError, one_sentence, remake
from workflow_src.common.reading import reading
from workflow_src.render.markdown import records
from workflow_src.tables.operators import PRODUCT_COLUMNS, PRODUCT_KEYS
from workflow_src.tables.product_names import fitting, named
from workflow_src.tables.products import Product, calls_per_step

AMOUNTS = ["kernels_per_step", "busy_ms_per_step", "flops_per_step"]


def corrected(products: pd.DataFrame, plan: pd.DataFrame) -> pd.DataFrame:
    """A joined products.csv with each product named by its sizes where they tell, and its calls.

    plan: plan.csv of the run. Rows that become alike are added up; without rows nothing changes.
    """
    if products.empty:
        return products
    cases = {str(row["case"]): Case.from_dict(row) for row in records(plan)}
    if "kernels_per_step" not in products:
        products = products.rename(columns={"calls_per_step": "kernels_per_step"})
    names = [_name(row, cases[row["case"]]) for row in records(products)]
    keys = [*CASE_COLUMNS, *PRODUCT_KEYS]
    grouped = products.assign(product=names).groupby(keys, as_index=False, sort=False, dropna=False)
    table = grouped[AMOUNTS].sum().round({"busy_ms_per_step": 6})
    table = table.assign(
        phases=table.groupby(["case", "phase"], sort=False).ngroup(),
        calls_per_step=calls_per_step(table),
    ).sort_values(["phases", "busy_ms_per_step"], ascending=[True, False], kind="stable")
    return table[[*CASE_COLUMNS, *PRODUCT_COLUMNS]]


def _name(row: Mapping[str, Any], case: Case) -> str:
    about = ("direction", "m", "n", "k", "matrices", "layout", "dtype")
    return named(fitting(Product(*(row[name] for name in about)), case), row["product"])


@one_sentence()
def main(arguments: Sequence[str] | None = None) -> None:
    """Correct tables/products.csv of a run in place."""
    parser = Parser(prog="workflow_src.cli.correct_products", description=__doc__)
    parser.add_argument("--results", type=existing_folder, required=True, help="results/{tag}")
    results = parser.parse_args(arguments).results
    path = results / "tables" / "products.csv"
    with reading(path, "a table of products", remake(path), StageError):
        found = corrected(pd.read_csv(path), pd.read_csv(results / "plan.csv"))
    write_csv(path, found)


if __name__ == "__main__":
    main()
