"""An nsys export in a folder of Arrow or Parquet files. It takes pyarrow, an optional package."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from workflow_src.captures.capture import LATEST_NS
from workflow_src.captures.files import AGAIN
from workflow_src.captures.store import Among, Wanted
from workflow_src.common.errors import TraceError
from workflow_src.common.intervals import Indices
from workflow_src.common.nsys_folder import ARROW, PARQUET

END_OF_STREAM = b"\xff\xff\xff\xff\0\0\0\0"
"""Without it at the end, pyarrow takes a file that was cut off for one with fewer rows."""

NUMBER, TEXT = pa.int64(), pa.binary()
KINDS = {NUMBER: (pa.types.is_integer, "integers"), TEXT: (pa.types.is_binary, "text")}
"""What columns are read as, what may be read so, and what it is called."""


def _arrow(path: Path, columns: Sequence[str] | None) -> pa.Table:
    """Columns of a stream of Arrow's; None: all, without rows. Only pages looked at are read."""
    with pa.memory_map(str(path)) as file:
        if file.size() < len(END_OF_STREAM) or file.read_at(8, file.size() - 8) != END_OF_STREAM:
            raise EOFError("it is cut off")
        file.seek(0)
        stream = pa.ipc.open_stream(file)
        return stream.schema.empty_table() if columns is None else stream.read_all().select(columns)


def _parquet(path: Path, columns: Sequence[str] | None) -> pa.Table:
    """Columns of a Parquet file; None: all, without rows."""
    with pq.ParquetFile(path, memory_map=True) as file:
        return file.schema_arrow.empty_table() if columns is None else file.read(columns)


READERS: Mapping[str, Callable[[Path, Sequence[str] | None], pa.Table]] = {
    ARROW: _arrow,
    PARQUET: _parquet,
}


@dataclass(frozen=True)
class Folder:
    """A folder with a file per table, and the columns of each."""

    files: Mapping[str, Path]
    columns: Mapping[str, tuple[str, ...]]

    def rows(self, table: str) -> int:
        """How many rows a table has."""
        return int(_read(self.files[table], self.columns[table][:1]).num_rows)

    def integers(
        self, table: str, wanted: Sequence[Wanted], among: Among | None = None
    ) -> list[Indices]:
        """Columns of a table, or of some of its rows. Raises TraceError for one of another type."""
        found = self._some(table, {each.column: NUMBER for each in wanted}, among)
        return [found[each.column].fill_null(each.missing).to_numpy() for each in wanted]

    def values(self, table: str, column: str, among: Among | None = None) -> list[object]:
        """A column of text; None where it is missing. Raises TraceError for one of another type."""
        return _texts(self._some(table, {column: TEXT}, among)[column])

    def duration_ns(self, table: str, start: str, end: str) -> int:
        """The sum of end - start of the rows that start and end, in this order, at good times."""
        found = self._some(table, {start: NUMBER, end: NUMBER})
        begin, finish = found[start], found[end]
        plausible = pc.and_(pc.greater(begin, -LATEST_NS), pc.less(finish, LATEST_NS))
        good = pc.and_(plausible, pc.greater_equal(finish, begin))
        return int(pc.sum(pc.subtract(finish, begin).filter(good)).as_py() or 0)

    def apart(self) -> AbstractContextManager["Folder"]:
        """The same: any thread may read it."""
        return nullcontext(self)

    def _some(
        self, table: str, kinds: Mapping[str, pa.DataType], among: Among | None = None
    ) -> pa.Table:
        """Columns of these kinds, of some rows. Raises TraceError for one of another kind."""
        kinds = {**kinds, among.column: NUMBER} if among else kinds
        found = _read(self.files[table], list(kinds))
        for name, kind in kinds.items():
            is_kind, what = KINDS[kind]
            # Newer versions of nsys leave the type of a column open in which nothing stands.
            if not is_kind(held := found[name].type) and not pa.types.is_null(held):
                raise TraceError(
                    f"its table {table} has {held} in column {name}, not {what}; {AGAIN}"
                )
        # What has no sign becomes what nsys writes to SQLite.
        found = found.cast(pa.schema(kinds.items()), safe=False)
        if not among:
            return found
        return found.filter(pc.is_in(found[among.column], pa.array(among.values)))


def folder(files: Mapping[str, Path]) -> Folder:
    """The tables of these files. Raises TraceError if one is damaged."""
    return Folder(files, {name: tuple(_read(path).column_names) for name, path in files.items()})


def _read(path: Path, columns: Sequence[str] | None = None) -> pa.Table:
    """Columns of a file, text as bytes. Raises TraceError if it is damaged."""
    try:
        table = READERS[path.suffix](path, columns)
        # Text isn't always UTF-8, which pyarrow takes for damage.
        kinds = [TEXT if pa.types.is_string(kind) else kind for kind in table.schema.types]
        table = table.cast(pa.schema(zip(table.column_names, kinds, strict=True)))
        table.validate(full=True)
    except (pa.ArrowException, OSError, EOFError) as error:
        reason = " ".join(str(error).split())[:150]
        raise TraceError(f"its file {path.name} can't be read ({reason}); {AGAIN}") from error
    return table


def _texts(column: pa.ChunkedArray) -> list[object]:
    return [
        None if text is None else text.decode("utf-8", "backslashreplace")
        for text in column.to_pylist()
    ]
