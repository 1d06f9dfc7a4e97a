"""What is wrong with the steps in a capture, what it costs, and what to change."""

import argparse
import signal
import sys
from collections.abc import Sequence
from io import TextIOWrapper
from pathlib import Path

from workflow_src.capture_report.report import write_report
from workflow_src.capture_report.summary import first_said
from workflow_src.captures.torch_ranks import named_jobs
from workflow_src.cli.read_capture import add_options, write_capture
from workflow_src.common.arguments import Parser, new_folder
from workflow_src.common.capture_names import names_of
from workflow_src.common.errors import ConfigError, TraceError, one_sentence
from workflow_src.compare import compare_captures, trend
from workflow_src.compare.gate import USAGE_STATUS, usage_status
from workflow_src.compare.trend import TEMPLATES
from workflow_src.paper.plain import screen

FOLD = r"\.\d+"
"""What the workflow leaves out of ranges' names unless asked otherwise."""

ABOUT = """
FILE is a capture of a training step, or of any program that uses a GPU:

  theirs.nsys-rep        of nsys (Nsight Systems), if nsys is on the PATH to export it
  theirs.sqlite          nsys export --type sqlite theirs.nsys-rep
  trace.json             torch.profiler: export_chrome_trace

Files may be compressed (.gz). Traces of torch.profiler of all ranks of one job are read together.

  steptime theirs.sqlite
  steptime trace.json --step train_step --step-ms 78.2
  steptime after.sqlite --against before.sqlite
  steptime trend steptime/monday steptime/tuesday steptime/today

The first screen is printed; in FOLDER/{name of the capture}/ are report.html, summary.json for
programs, and all rows as CSVs. With --against, FOLDER/{name}/against-{other}/ has compare.html and
compare.json. trend reads what steptime wrote, or the folders of the workflow's runs, and writes
trend/trend.html and trend.json.

Exit status: 0, or 1 if a capture could not be read, 2 if an argument is wrong. With --against: 0 if
FILE is not slower, 1 if it is, 2 if they could not be compared, 3 if that can't be told.
"""


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The arguments. Ends with status 2 and a sentence for wrong ones."""
    parser = Parser(
        prog="steptime",
        description=__doc__,
        epilog=ABOUT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("capture", metavar="FILE", type=Path, nargs="+", help="a capture")
    against = "compare FILE with this capture: is it slower, where, and what changed?"
    parser.add_argument("--against", metavar="FILE", type=Path, nargs="+", help=against)
    output = "where to write; without it steptime/"
    parser.add_argument(
        "--output", metavar="FOLDER", type=new_folder, default=Path("steptime"), help=output
    )
    add_options(parser)
    parser.set_defaults(fold=FOLD)
    return parser.parse_args(arguments)


def report(given: argparse.Namespace, files: Sequence[Path], folder: Path) -> None:
    """Read a capture into a folder, with its report, and print what is said first. Raises
    TraceError if it can't be read."""
    if sys.stderr.isatty():
        print(f"reading {files[0]} ...", file=sys.stderr)
    write_capture(argparse.Namespace(**vars(given) | {"capture": files}), folder)
    page = folder / "report.html"
    (capture,) = write_report([folder], page, TEMPLATES)
    print(screen(first_said(capture, TEMPLATES)), f"More: {page}\n", sep="\n\n", flush=True)


def report_each(given: argparse.Namespace) -> int:
    """Report each capture; gives the exit status."""
    status = 0
    for name, files in named_jobs([*map(str, given.capture)]).items():
        try:
            report(given, files, given.output / name)
        except TraceError as error:
            print(error, file=sys.stderr)
            status = 1
    return status


def compare(given: argparse.Namespace) -> int:
    """Report both captures and compare them; gives the exit status."""
    sides = (given.capture, given.against)
    names = names_of([str(files[0]) for files in sides])
    folders = [given.output / names[str(files[0])] for files in sides]
    for files, folder in zip(sides, folders, strict=True):
        report(given, files, folder)
    output = folders[0] / f"against-{folders[1].name}"
    print(f"A is {folders[1].name}, B is {folders[0].name}.")
    status = compare_captures.write_comparison(folders[1], folders[0], TEMPLATES, output)
    print(f"\nMore: {output / 'compare.html'}")
    return status


def main(arguments: Sequence[str] | None = None) -> None:
    """Read captures, compare two, or show a trend; ends with the exit status."""
    words = [*(sys.argv[1:] if arguments is None else arguments)]
    if words[:1] == ["trend"]:
        return trend.main(words[1:])
    given = parsed(arguments)
    if arguments is None:
        # As other commands, it ends where nobody reads on, as after `| head`.
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    if isinstance(sys.stdout, TextIOWrapper):
        # Names of kernels and ranges may have letters that a terminal's encoding lacks.
        sys.stdout.reconfigure(errors="replace")
    if given.against:
        with usage_status():
            status = compare(given)
    else:
        with one_sentence():
            try:
                status = report_each(given)
            except ConfigError as error:
                print(error, file=sys.stderr)
                status = USAGE_STATUS
    sys.exit(status)


if __name__ == "__main__":
    main()
