"""A file system that never answers: a real mount, whose server is the test and does not reply.

The kernel's side of FUSE (linux/fuse.h), without a library: a request waits until somebody writes its reply to the
descriptor that the file system was mounted with. Only the first one, INIT, gets one here. The others are not even read:
while one is pending the kernel lets a process end that waits for it, as on a hard NFS mount; once one is read it does
not (fs/fuse/dev.c, request_wait_answer), whatever the process does.
"""

import ctypes
import os
import select
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

_LIBC: Final = ctypes.CDLL(None, use_errno=True)
_INIT: Final = 26
_REQUEST: Final = struct.Struct("<IIQ")  # len, opcode, unique of fuse_in_header
_REPLY: Final = struct.Struct("<IiQ")  # fuse_out_header
# fuse_init_out: protocol 7.31, nothing that is optional, 128 KiB at once.
_INIT_OUT: Final = struct.pack("<IIIIHHII36x", 7, 31, 0, 0, 1, 1, 131072, 1)
_LARGEST_REQUEST: Final = 1 << 18
_MNT_DETACH: Final = 2


class HungMount:
    """The mount; whoever looks at it waits until it is gone."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def wait_for_a_request(self) -> None:
        """Return once somebody waits for an answer."""
        _, opcode, unique = _REQUEST.unpack_from(os.read(self._descriptor, _LARGEST_REQUEST))
        assert opcode == _INIT
        os.write(self._descriptor, _REPLY.pack(_REPLY.size + len(_INIT_OUT), 0, unique) + _INIT_OUT)
        pending = select.poll()
        pending.register(self._descriptor, select.POLLIN)
        assert pending.poll(60_000), "waited 60 s in vain for somebody to look"


@contextmanager
def hung_mount(directory: Path) -> Iterator[HungMount]:
    """Mount it over a directory, and take it away; without the right to mount, the test is left out."""
    try:
        descriptor = os.open("/dev/fuse", os.O_RDWR)
    except OSError as error:
        pytest.skip(f"/dev/fuse: {error.strerror}")
    try:
        options = f"fd={descriptor},rootmode=40000,user_id={os.getuid()},group_id={os.getgid()}"
        if _LIBC.mount(b"hung", os.fsencode(directory), b"fuse", 0, options.encode()):
            pytest.skip(f"mount: {os.strerror(ctypes.get_errno())}")
        try:
            yield HungMount(descriptor)
        finally:
            _LIBC.umount2(os.fsencode(directory), _MNT_DETACH)
    finally:
        # Whoever still waits gets an error now.
        os.close(descriptor)
