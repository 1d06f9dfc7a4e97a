"""An nsys export in a folder of Arrow or Parquet files. It takes pyarrow, an optional package."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from workflow_src.captures.files import AGAIN
from workflow_src.captures.store import Store
from workflow_src.common.errors import TraceError
from workflow_src.common.intervals import Indices
from workflow_src.common.nsys_folder import ARROW

END_OF_STREAM = b"\xff\xff\xff\xff\0\0\0\0"
"""Without it at the end, pyarrow takes a file that was cut off for one with fewer rows."""

NUMBER, TEXT = pa.int64(), pa.binary()
KINDS = {NUMBER: (pa.types.is_integer, "integers"), TEXT: (pa.types.is_binary, "text")}
"""What columns are read as, what may be read so, and what it is called."""


def stored(path: Path, columns: Sequence[str] | None) -> pa.Table:
    """Columns of a file; None: all, without rows. Of Arrow, only pages looked at are read."""
    if path.suffix != ARROW:
        with pq.ParquetFile(path, memory_map=True) as file:
            empty = file.schema_arrow.empty_table
            return empty() if columns is None else file.read(columns)
    with pa.memory_map(str(path)) as file:
        if file.size() < len(END_OF_STREAM) or file.read_at(8, file.size() - 8) != END_OF_STREAM:
            raise EOFError("it is cut off")
        file.seek(0)
        stream = pa.ipc.open_stream(file)
        return stream.schema.empty_table() if columns is None else stream.read_all().select(columns)


@dataclass(frozen=True)
class Folder(Store):
    """A folder with a file per table."""

    files: Mapping[str, Path]

    def _integers(self, table: str, columns: Mapping[str, int]) -> list[Indices]:
        found = self._typed(table, dict.fromkeys(columns, NUMBER))
        return [found[name].fill_null(value).to_numpy() for name, value in columns.items()]

    def _values(self, table: str, column: str) -> list[Any]:
        found = self._typed(table, {column: TEXT})[column].to_pylist()
        return [
            None if text is None else text.decode("utf-8", "backslashreplace") for text in found
        ]

    def _typed(self, table: str, kinds: Mapping[str, pa.DataType]) -> pa.Table:
        """Columns of these kinds. Raises TraceError for one of another kind."""
        found = _read(self.files[table], list(kinds))
        for name, kind in kinds.items():
            is_kind, what = KINDS[kind]
            # Newer versions of nsys leave the type of a column open in which nothing stands.
            if not is_kind(held := found[name].type) and not pa.types.is_null(held):
                raise TraceError(
                    f"its table {table} has {held} in column {name}, not {what}; {AGAIN}"
                )
        # What has no sign becomes what nsys writes to SQLite.
        return found.cast(pa.schema(kinds.items()), safe=False)


def folder(files: Mapping[str, Path]) -> Folder:
    """The tables of these files. Raises TraceError if one is damaged."""
    return Folder({name: tuple(_read(path).column_names) for name, path in files.items()}, files)


def _read(path: Path, columns: Sequence[str] | None = None) -> pa.Table:
    """Columns of a file, text as bytes. Raises TraceError if it is damaged."""
    try:
        table = stored(path, columns)
        # Text isn't always UTF-8, which pyarrow takes for damage.
        kinds = [TEXT if pa.types.is_string(kind) else kind for kind in table.schema.types]
        table = table.cast(pa.schema(zip(table.column_names, kinds, strict=True)))
        table.validate(full=True)
    except (pa.ArrowException, OSError, EOFError) as error:
        reason = " ".join(str(error).split())[:150]
        raise TraceError(f"its file {path.name} can't be read ({reason}); {AGAIN}") from error
    return table
