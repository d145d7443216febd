"""A field for a number that is written as people write it."""

from __future__ import annotations

from PySide6.QtWidgets import QDoubleSpinBox


class NumberBox(QDoubleSpinBox):
    """Shows a number without zeros that say nothing."""

    def textFromValue(self, value: float) -> str:
        """Return 40 and not 40.000."""
        text, point = super().textFromValue(value), self.locale().decimalPoint()
        return text.rstrip("0").removesuffix(point) if point in text else text
