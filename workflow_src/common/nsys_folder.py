"""The folders that nsys exports with --type arrowdir and parquetdir: a file per table."""

from pathlib import Path

ARROW, PARQUET = ".arrow", ".parquet"


def table_files(folder: Path) -> dict[str, Path]:
    """The files of a folder's tables, by name; none if it is no such folder."""
    files = (path for path in sorted(folder.glob("*")) if path.suffix in (ARROW, PARQUET))
    return {path.stem: path for path in files if path.is_file()}
