"""`python -m jiyi` is `jiyi`."""

from jiyi.surfaces.cli import main

if __name__ == "__main__":
    main()
