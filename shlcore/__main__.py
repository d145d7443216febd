"""The command ``shlcore``: experiments without a window."""

from __future__ import annotations

import argparse
import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING

from shlcore.estimator import log_to
from shlcore.experiments import (
    codewords,
    infinite_mnist,
    large,
    options,
    qualitative,
    retrieval,
    transductive,
)
from shlcore.experiments.datasets import DatasetError
from shlcore.experiments.journal import JournalError
from shlcore.parallel import ClusterError

if TYPE_CHECKING:
    from collections.abc import Sequence

EXPERIMENTS = (retrieval, qualitative, transductive, codewords, large, infinite_mnist)


def parser() -> argparse.ArgumentParser:
    """Build the command line."""
    top = argparse.ArgumentParser(
        prog="shlcore",
        description="Supervised hash learning through codewords (*SHL).",
        epilog="example:\n  shlcore experiment retrieval usps.npz --methods SHL KSH --bits 5 45",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    options.add_verbose(top, default=False)
    commands = top.add_subparsers(required=True, metavar="COMMAND")
    experiment = commands.add_parser(
        "experiment", help="run an experiment of the paper", description="The paper's experiments."
    )
    names = experiment.add_subparsers(required=True, metavar="EXPERIMENT")
    for module in EXPERIMENTS:
        module.add_parser(names)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; the exit code is 0 for success, 1 if something failed."""
    arguments = parser().parse_args(argv)
    try:
        with log_to(sys.stderr) if arguments.verbose else nullcontext():
            return int(arguments.run(arguments))
    except (ClusterError, DatasetError, JournalError) as error:
        print(f"shlcore: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("Interrupted. The same command again continues from here.", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
