"""Where the bundled program begins."""

import multiprocessing
import sys

from segapp.__main__ import main

if __name__ == "__main__":
    multiprocessing.freeze_support()  # a batch starts this program again for each process
    sys.exit(main())
