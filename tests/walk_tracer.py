"""Run `celis` with these arguments, and print which functions of the package were entered, in order."""

import sys
import threading

entered: dict[str, None] = {}


def note(frame, event, _):
    code = frame.f_code
    if event == "call" and "napari_celis" in code.co_filename:
        file = code.co_filename.replace("\\", "/").rpartition("/napari_celis/")[2]
        entered.setdefault(f"{file} {code.co_qualname}")


threading.setprofile(note)
sys.setprofile(note)
try:
    from napari_celis.cli import main

    main()
finally:
    sys.setprofile(None)
    sys.stdout.write("\n".join(["ENTERED", *entered]))
