"""`python -m sayagain` is `sayagain`."""

from sayagain.cli import main

if __name__ == "__main__":
    main()
