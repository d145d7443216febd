"""The last answer before retouches, so that painting over it learns nothing anew."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segapp.values.updates import Answer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from segapp.values.document import Mark
    from segapp.values.updates import Update


class LastAnswer:
    """Remembers one answer; whoever holds the answer too shares its arrays with it."""

    def __init__(self) -> None:
        self._asked: object = None
        self._retouches: tuple[Mark, ...] = ()
        self._answer: Answer | None = None

    def known_or(
        self, asked: object, retouches: tuple[Mark, ...], updates: Iterator[Update]
    ) -> Iterator[Update]:
        """Yield the remembered answer if only retouches are others, or else the updates.

        ``asked`` is all that the answer depends on. Who asks for the very same again has a
        reason to, and gets it made anew.
        """
        known = self._answer if asked == self._asked and retouches != self._retouches else None
        self._retouches = retouches
        if known is not None:
            yield known
            return
        for update in updates:
            if isinstance(update, Answer):
                self._asked, self._answer = asked, update
            yield update
