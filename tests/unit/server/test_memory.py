"""One heap for all threads: each can use the memory that another has freed."""

import ctypes
import re
import subprocess
import sys

_SCRIPT = """
import ctypes, threading
from podberth.server.memory import prepare

prepare()
libc = ctypes.CDLL(None)
thread = threading.Thread(target=libc.malloc, args=(100_000,))
thread.start()
thread.join()
libc.fdopen.restype = ctypes.c_void_p
out = ctypes.c_void_p(libc.fdopen(1, b"w"))
libc.malloc_info(0, out)
libc.fflush(out)
"""


def test_a_thread_takes_its_memory_where_all_do() -> None:
    if not hasattr(ctypes.CDLL(None), "malloc_info"):
        return  # another C library than glibc, which has no setting for it either
    done = subprocess.run([sys.executable, "-c", _SCRIPT], check=True, capture_output=True, text=True)
    assert re.findall(r'<heap nr="(\d+)"', done.stdout) == ["0"]
