"""Many images at once: cases in; masks, scores, a summary and pictures out."""

from segapp.batch.report import summary, write_reports
from segapp.batch.task import Outcome, Task, outcomes, remote_outcomes

__all__ = [
    "Outcome",
    "Task",
    "outcomes",
    "remote_outcomes",
    "summary",
    "write_reports",
]
