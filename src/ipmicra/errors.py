"""What went wrong -> whose fault it is.

Four families, one for each party that can mend a fault. A message says what was being done, to what,
what was wrong, and what to do about it. Subclass a family only where somebody catches the subclass.
Anything that is not one of these is a defect of ours and shows its traceback.
"""

from __future__ import annotations


class Fault(Exception):
    """An expected misfortune. `exit_code` is what the command line ends with."""

    exit_code = 1


class OurFault(Fault):
    """A defect or a broken promise of this program; the operator can only report it."""

    exit_code = 1


class OperatorFault(Fault):
    """A setting, argument, file or piece of data that the operator gave is wrong."""

    exit_code = 3


class SiteFault(Fault):
    """A remote server did not answer, or answered badly."""

    exit_code = 4


class HostFault(Fault):
    """The machine we run on lacks something or forbids it: disk, memory, a privilege, a program."""

    exit_code = 5
