"""A combo box that never widens the panel."""

from __future__ import annotations

from collections.abc import Mapping

from qtpy.QtWidgets import QComboBox, QWidget

SHORTEST = 8
"""Letters that are always shown; longer texts are cut off where there is no room."""


def make_narrow(combo: QComboBox) -> None:
    """Let a combo box be narrower than its texts."""
    combo.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
    combo.setMinimumContentsLength(SHORTEST)


class NarrowCombo(QComboBox):
    """Takes the width that there is, however long its texts are.

    Parameters
    ----------
    tip : str
        What is chosen here.
    options : mapping of str to str, optional
        Texts by value.
    """

    def __init__(
        self, tip: str, options: Mapping[str, str] | None = None, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setToolTip(tip)
        make_narrow(self)
        for value, text in (options or {}).items():
            self.addItem(text, value)

    def offer(self, names: list[str]) -> None:
        """List other names; the choice stays where it can."""
        if names == [self.itemText(index) for index in range(self.count())]:
            return
        chosen = self.currentText()
        self.blockSignals(True)
        self.clear()
        self.addItems(names)
        self.setCurrentIndex(names.index(chosen) if chosen in names else min(0, len(names) - 1))
        self.blockSignals(False)
