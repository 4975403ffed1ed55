"""`python -m bot` is `treadle`."""

from bot.cli import main

if __name__ == "__main__":
    main()
