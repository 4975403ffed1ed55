"""System call numbers on x86_64 and aarch64, from the kernel's own tables.

x86_64: arch/x86/entry/syscalls/syscall_64.tbl; aarch64: include/uapi/asm-generic/unistd.h. None
where a machine does not have the call. A test compares them with the headers of linux-libc-dev.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TypeAlias

Numbers: TypeAlias = tuple[int | None, int | None]
"""On x86_64 and on aarch64."""


OTHERS: Mapping[str, Numbers] = MappingProxyType(
    {
        "ptrace": (101, 117),
        "process_vm_readv": (310, 270),
        "process_vm_writev": (311, 271),
        "kcmp": (312, 272),
        "pidfd_getfd": (438, 438),
        "process_madvise": (440, 440),
    }
)
"""Of other processes: their memory, registers and descriptors."""

MOUNTS: Mapping[str, Numbers] = MappingProxyType(
    {
        "mount": (165, 40),
        "umount2": (166, 39),
        "pivot_root": (155, 41),
        "chroot": (161, 51),
        "open_tree": (428, 428),
        "open_tree_attr": (467, 467),
        "move_mount": (429, 429),
        "fsopen": (430, 430),
        "fsconfig": (431, 431),
        "fsmount": (432, 432),
        "fspick": (433, 433),
        "mount_setattr": (442, 442),
        "setns": (308, 268),
        "unshare": (272, 97),
        "name_to_handle_at": (303, 264),
        "open_by_handle_at": (304, 265),
    }
)
"""Mounts, name spaces, and files by handle."""

KEYS: Mapping[str, Numbers] = MappingProxyType(
    {
        "add_key": (248, 217),
        "request_key": (249, 218),
        "keyctl": (250, 219),
    }
)
"""The kernel's key rings, which name spaces do not part."""

ATTACKED: Mapping[str, Numbers] = MappingProxyType(
    {
        "bpf": (321, 280),
        "perf_event_open": (298, 241),
        "userfaultfd": (323, 282),
        "io_uring_setup": (425, 425),
        "io_uring_enter": (426, 426),
        "io_uring_register": (427, 427),
        "fanotify_init": (300, 262),
        "memfd_secret": (447, 447),
    }
)
"""Large parts of the kernel that commands do not need and attackers like."""

MACHINE: Mapping[str, Numbers] = MappingProxyType(
    {
        "init_module": (175, 105),
        "finit_module": (313, 273),
        "delete_module": (176, 106),
        "create_module": (174, None),
        "kexec_load": (246, 104),
        "kexec_file_load": (320, 294),
        "reboot": (169, 142),
        "swapon": (167, 224),
        "swapoff": (168, 225),
        "acct": (163, 89),
        "quotactl": (179, 60),
        "quotactl_fd": (443, 443),
        "nfsservctl": (180, 42),
        "lookup_dcookie": (212, 18),
        "sethostname": (170, 161),
        "setdomainname": (171, 162),
        "settimeofday": (164, 170),
        "clock_settime": (227, 112),
        "clock_adjtime": (305, 266),
        "syslog": (103, 116),
        "vhangup": (153, 58),
        "iopl": (172, None),
        "ioperm": (173, None),
        "modify_ldt": (154, None),
        "_sysctl": (156, None),
        "uselib": (134, None),
        "ustat": (136, None),
        "sysfs": (139, None),
        "personality": (135, 92),
    }
)
"""The machine as a whole: modules, clock, swap, quota, names, old interfaces."""

NODES: Mapping[str, Numbers] = MappingProxyType(
    {
        "migrate_pages": (256, 238),
        "move_pages": (279, 239),
        "mbind": (237, 235),
        "set_mempolicy": (238, 237),
        "set_mempolicy_home_node": (450, 450),
    }
)
"""Where memory stands."""

QUEUES: Mapping[str, Numbers] = MappingProxyType(
    {
        "shmat": (30, 196),
        "shmctl": (31, 195),
        "shmdt": (67, 197),
        "semget": (64, 190),
        "semop": (65, 193),
        "semctl": (66, 191),
        "semtimedop": (220, 192),
        "msgget": (68, 186),
        "msgsnd": (69, 189),
        "msgrcv": (70, 188),
        "msgctl": (71, 187),
        "mq_open": (240, 180),
        "mq_unlink": (241, 181),
        "mq_timedsend": (242, 182),
        "mq_timedreceive": (243, 183),
        "mq_notify": (244, 184),
        "mq_getsetattr": (245, 185),
    }
)
"""Objects of System V and POSIX that outlive processes."""

SOCKETS: Mapping[str, Numbers] = MappingProxyType(
    {
        "connect": (42, 203),
        "bind": (49, 200),
        "listen": (50, 201),
        "accept": (43, 202),
        "accept4": (288, 242),
    }
)
"""What no socket of a pair needs."""

UNCOUNTED: Mapping[str, Numbers] = MappingProxyType(
    {
        "memfd_create": (319, 279),
        "shmget": (29, 194),
    }
)
"""Memory that stays while no process maps it, so that nothing counts it for the command."""

WATCHES: Mapping[str, Numbers] = MappingProxyType(
    {
        "inotify_init": (253, None),
        "inotify_init1": (294, 26),
    }
)
"""Landlock does not keep them from watching directories outside."""

PRIORITIES: Mapping[str, Numbers] = MappingProxyType(
    {
        "prlimit64": (302, 261),
        "setpriority": (141, 140),
        "ioprio_set": (251, 30),
        "sched_setaffinity": (203, 122),
        "sched_setattr": (314, 274),
        "sched_setparam": (142, 118),
        "sched_setscheduler": (144, 119),
    }
)
"""Limits and priorities of a process by its id: of the bot too, where it is the same user."""

BURSTS: Mapping[str, Numbers] = MappingProxyType(
    {
        "fallocate": (285, 47),
    }
)
"""Disk without writing to it: within an instant, and beyond RLIMIT_FSIZE by FALLOC_FL_KEEP_SIZE."""

JUDGED: Mapping[str, Numbers] = MappingProxyType(
    {
        "clone": (56, 220),
        "clone3": (435, 435),
        "ioctl": (16, 29),
        "socket": (41, 198),
        "socketpair": (53, 199),
        "chmod": (90, None),
        "fchmod": (91, 52),
        "fchmodat": (268, 53),
        "fchmodat2": (452, 452),
        "creat": (85, None),
        "open": (2, None),
        "openat": (257, 56),
        "openat2": (437, 437),
        "mknod": (133, None),
        "mknodat": (259, 33),
    }
)
"""Allowed or not by their arguments."""
