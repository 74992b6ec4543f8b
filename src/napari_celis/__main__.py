"""Run `celis` as `python -m napari_celis`, where no console script can be called."""

from napari_celis.cli import main

if __name__ == "__main__":
    main()
