"""Many images at once: cases in; masks, scores, a summary and pictures out."""

from segapp.batch.execution import run_tasks, run_tasks_remotely
from segapp.batch.report import summary, write_reports
from segapp.batch.task import Outcome, Task

__all__ = [
    "Outcome",
    "Task",
    "run_tasks",
    "run_tasks_remotely",
    "summary",
    "write_reports",
]
