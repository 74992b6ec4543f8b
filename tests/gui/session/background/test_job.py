"""Work in the background: what it tells the window, and how often."""

from napari_celis.gui.session.background.job import Job


def test_every_stage_and_the_end_are_told_but_not_every_step(qtbot):
    told = []

    def work(report):
        for stage in ("first", "second"):
            for n in range(1001):
                report(stage, n / 1000)
        return "done"

    job = Job(work, "celis test")
    job.progressed.connect(lambda progress: told.append((progress.stage, progress.share)))
    with qtbot.waitSignal(job.returned) as returned:
        job.start()
    assert returned.args == ["done"]
    assert {("first", 0.0), ("first", 1.0), ("second", 0.0), ("second", 1.0)} <= set(told)
    assert len(told) < 100
    assert told == sorted(told)


def test_nothing_is_told_after_closing_not_even_what_is_on_its_way(qtbot):
    job = Job(lambda report: "done", "celis test")
    told = []
    job.returned.connect(told.append)
    job.ended.connect(lambda: told.append("ended"))
    job.start()
    # The answer is in the queue of this thread when it comes to look there.
    job._thread.join()
    job.close()
    with qtbot.waitSignal(job.destroyed):
        job.deleteLater()
    assert told == []
