"""The tables of a question as its command reads them, and cells as they are printed."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.synthetic_tables import Sample, write_tables
from workflow_src.answers import stage
from workflow_src.answers.tables import Tables
from workflow_src.paper.show import Printer


def reading(question: str) -> Any:
    """A fixture that gives the tables which a question reads of samples."""

    @pytest.fixture
    def read(tmp_path: Path) -> Callable[..., Tables]:
        def tables(*samples: Sample) -> Tables:
            return stage.read(write_tables(tmp_path, *samples), question)

        return tables

    return read


def printed(cell: object) -> str:
    return str(Printer()(cell))


def row_of(cells: Iterable[object]) -> list[str]:
    """Cells of a row, printed."""
    return [printed(cell) for cell in cells]
