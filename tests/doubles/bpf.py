"""Runs a classic BPF program as seccomp does: a second opinion on what the filter says.

After linux/filter.h and the checks of kernel/seccomp.c: 32-bit words, forward jumps only.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence


def verdict(program: bytes, audit: int, number: int, arguments: Sequence[int] = ()) -> int:
    """The return value of the filter for one system call; arguments are 64-bit."""
    padded = [*arguments, *[0] * (6 - len(arguments))]
    data = struct.pack("<iIQ6Q", _signed(number), audit, 0, *(a & (2**64 - 1) for a in padded))
    steps = [struct.unpack_from("<HBBI", program, at) for at in range(0, len(program), 8)]
    accumulator, place = 0, 0
    while True:
        code, if_true, if_false, value = steps[place]
        place += 1
        match code:
            case 0x20:
                accumulator = struct.unpack_from("<I", data, value)[0]
            case 0x54:
                accumulator &= value
            case 0x06:
                return int(value)
            case 0x15:
                place += if_true if accumulator == value else if_false
            case 0x35:
                place += if_true if accumulator >= value else if_false
            case 0x45:
                place += if_true if accumulator & value else if_false
            case _:
                raise AssertionError(f"instruction {code:#x} is not one that the filter may use")


def _signed(number: int) -> int:
    return number - 2**32 if number >= 2**31 else number
