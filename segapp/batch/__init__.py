"""Many images at once: cases in; masks, scores, a summary and pictures out."""

from segapp.batch.pool import outcomes
from segapp.batch.remote import remote_outcomes
from segapp.batch.report import summary, write_reports
from segapp.batch.task import Outcome, Task

__all__ = [
    "Outcome",
    "Task",
    "outcomes",
    "remote_outcomes",
    "summary",
    "write_reports",
]
