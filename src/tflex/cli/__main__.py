"""`python -m tflex.cli`, for launchers that want a module (torchrun)."""

from tflex.cli import main

if __name__ == "__main__":
    main()
