"""Chooses what reads: the shared library, or the program sotto as a process of its own."""

from __future__ import annotations

import os
import threading
from typing import Union

from . import _library, _process
from ._types import SottoError

Backend = Union[_library.Library, _process.Process]

_lock = threading.Lock()
_chosen: Backend | None = None
_loaded_in = 0  # the process that loaded the library


def backend() -> Backend:
    """What reads in this process.

    A child of fork cannot use a library that its parent has loaded: the threads of its
    runtime do not exist there. Such a child asks the program instead.
    """
    global _chosen, _loaded_in
    if _chosen is not None and _chosen.pid == os.getpid():
        return _chosen
    with _lock:
        if _chosen is None or _chosen.pid != os.getpid():
            _chosen = _choose()
    return _chosen


def _choose() -> Backend:
    global _loaded_in
    path = _library.library_path()
    why = f"there is no library {path}"
    if _loaded_in not in (0, os.getpid()):
        why = "this process was forked after the library was loaded; use the start method spawn, or load Sotto after the fork"
    elif path.exists():
        _loaded_in = os.getpid()
        return _library.load(path)
    program = _process.find()
    if program:
        return _process.Process(program)
    raise SottoError(f"{why}, and no program sotto in PATH or SOTTO_PROGRAM")


def _after_fork() -> None:
    global _lock
    _lock = threading.Lock()  # another thread may have held it


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
