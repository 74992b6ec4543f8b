"""The message line holds the newest sentence."""

from __future__ import annotations

from napari_celis.gui.session.messages import NO_MESSAGE, Message, MessageLine


def test_the_newest_message_is_kept_and_told(qtbot):
    line, told = MessageLine(), []
    line.changed.connect(told.append)
    assert line.current == NO_MESSAGE
    line.say("The image is missing.")
    line.say("Choose a model.", "warning")
    assert line.current == Message("Choose a model.", "warning")
    line.clear()
    assert told == [
        Message("The image is missing.", "error"),
        Message("Choose a model.", "warning"),
        Message(),
    ]


def test_nothing_to_say_has_no_severity(qtbot):
    line = MessageLine()
    line.say("", "error")
    assert line.current == Message("", "")
