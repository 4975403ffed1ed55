"""`python -m bot` is `treadle`."""

import sys
from pathlib import Path

if not sys.flags.safe_path and Path(sys.path[0]) != Path(__file__).parents[1]:
    # Python put the current directory there; only modules from where Treadle lies are wanted.
    del sys.path[0]

from bot.cli import main

if __name__ == "__main__":
    main()
