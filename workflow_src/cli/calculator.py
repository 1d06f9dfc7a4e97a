"""Estimate training time or the largest model that fits in memory, and print the formula.

python -m workflow_src.cli.calculator train-time --parameters 7e9 --tokens 1e12 --devices 64 \\
    --peak-tflops 989 --mfu 0.4
python -m workflow_src.cli.calculator largest-model --memory-gib 80
"""

import argparse
import sys
from collections.abc import Sequence

from workflow_src.common.arguments import Parser, count, not_negative, positive, share
from workflow_src.common.units import GIB
from workflow_src.model.estimates import largest_parameters, train_seconds
from workflow_src.model.memory_formulas import STATE_BYTES
from workflow_src.paper.markdown import number

DAY_S = 86_400


def train_time(given: argparse.Namespace) -> str:
    """The output of `train-time`."""
    n, t, g = given.parameters, given.tokens, given.devices
    seconds = train_seconds(n, t, g, given.peak_tflops * 1e12, given.mfu)
    return (
        "time = 6 x parameters x tokens / (devices x peak x MFU)\n"
        f"     = 6 x {n:g} x {t:g} / ({g:g} x {given.peak_tflops:g}e12 FLOP/s x {given.mfu:g})\n"
        f"     = {number(seconds)} s = {number(seconds / 3600)} hours"
        f" = {number(seconds / DAY_S)} days"
    )


def largest_model(given: argparse.Namespace) -> str:
    """The output of `largest-model`."""
    parameters = largest_parameters(given.memory_gib * GIB, given.activation_gib * GIB)
    left_out = "" if given.activation_gib else "\nActivations are left out: give --activation-gib."
    return (
        f"{STATE_BYTES} bytes a parameter: 4 weight + 4 gradient + 8 AdamW's two moments, float32"
        " (autocast keeps them so)\n"
        "parameters = (memory - activations) / bytes a parameter\n"
        f"           = ({given.memory_gib:g} - {given.activation_gib:g}) x 2^30 / {STATE_BYTES}\n"
        f"           = {parameters:,} = {number(parameters / 1e9)} billion{left_out}"
    )


def parser() -> Parser:
    """The command-line parser."""
    made = Parser(prog="workflow_src.cli.calculator", description=__doc__)
    made.formatter_class = argparse.RawDescriptionHelpFormatter
    commands = made.add_subparsers(required=True, metavar="train-time|largest-model")
    time = commands.add_parser("train-time", help="how long training takes")
    time.add_argument("--parameters", type=count, required=True, help="N, as 7e9 or 7B")
    time.add_argument("--tokens", type=count, required=True, help="T, as 1e12 or 1T")
    time.add_argument("--devices", type=positive, required=True, help="G")
    time.add_argument("--peak-tflops", type=positive, required=True, help="of one device")
    time.add_argument("--mfu", type=share, required=True, help="model FLOPs utilization, 0 to 1")
    time.set_defaults(text=train_time)
    largest = commands.add_parser("largest-model", help="largest model that fits with AdamW")
    largest.add_argument("--memory-gib", type=positive, required=True)
    largest.add_argument("--activation-gib", type=not_negative, default=0.0)
    largest.set_defaults(text=largest_model)
    return made


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the estimate with its formula; invalid input ends with one sentence."""
    given = parser().parse_args(arguments)
    try:
        print(given.text(given))
    except (ValueError, OverflowError) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
