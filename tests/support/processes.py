"""Starts processes that race with each other."""

from __future__ import annotations

import multiprocessing
from typing import Any


def run(task: Any, *arguments: tuple[Any, ...]) -> list[Any]:
    """Each process with its arguments, all at once; what they answered."""
    context = multiprocessing.get_context("forkserver")  # whose children find the imports done
    context.set_forkserver_preload(["indextables"])
    started = []
    for given in arguments:
        ours, theirs = context.Pipe(duplex=False)
        process = context.Process(target=task, args=(*given, theirs))
        process.start()
        theirs.close()  # so that a process that dies is the end of the pipe and not of our patience
        started.append((process, ours))
    answers = [pipe.recv() for _, pipe in started]
    for process, _ in started:
        process.join()
        assert process.exitcode == 0
    return answers
