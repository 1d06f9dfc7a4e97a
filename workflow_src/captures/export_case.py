"""Export the capture of a case into a folder, from which its tables and timeline are made.

Of a report of nsys it holds the SQLite and the CSVs of `nsys stats`, of a trace of torch.profiler a
copy of it: what any capture of that profiler is read from.
"""

import json
import shutil
from pathlib import Path

from workflow_src.captures.export import SUFFIX
from workflow_src.captures.files import content
from workflow_src.common import nsys_cli
from workflow_src.common.arguments import Parser, existing_file, new_folder
from workflow_src.common.atomic_write import partial_folder
from workflow_src.common.errors import TraceError, one_sentence, remake
from workflow_src.common.nsys_cli import DATABASE, TRACE
from workflow_src.common.reading import reading


def exported_file(folder: Path) -> Path:
    """The file in an export that holds the capture. Raises TraceError if there is none."""
    for path in (folder / DATABASE, folder / TRACE):
        if path.is_file():
            return path
    raise TraceError(f"{folder} is no export: it holds neither {DATABASE} nor {TRACE}")


def export(capture: Path, folder: Path, os_tracing: bool) -> None:
    """Export `capture` into `folder`, which appears complete or not at all.

    Raises TraceError, also if the folder holds anything but an earlier export.
    """
    held = [path.name for path in folder.iterdir()] if folder.is_dir() else []
    if held and not {DATABASE, TRACE} & set(held):
        raise TraceError(f"{folder} is not an export and would be replaced; give another folder")
    with partial_folder(folder) as parent:
        partial = parent / folder.name
        partial.mkdir()
        if capture.suffix == SUFFIX:
            nsys_cli.export(capture, partial, os_tracing)
        else:
            with reading(capture, "a trace of torch.profiler", remake(capture), TraceError):
                json.loads(content(capture)[0])["traceEvents"]
            shutil.copyfile(capture, partial / TRACE)
        if folder.exists():
            shutil.rmtree(folder)
        partial.rename(folder)


def main() -> None:
    """Export one capture."""
    parser = Parser(description=__doc__)
    parser.add_argument("--capture", type=existing_file, required=True)
    parser.add_argument("--output", type=new_folder, required=True, help="the folder to make")
    parser.add_argument("--os-tracing", action="store_true", help="the capture holds OS calls")
    arguments = parser.parse_args()
    with one_sentence(arguments.capture.name):
        export(arguments.capture, arguments.output, arguments.os_tracing)


if __name__ == "__main__":
    main()
