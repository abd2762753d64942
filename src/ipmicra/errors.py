"""An error -> the party that can fix it, and the exit code of the command.

One family for each such party. A message says what was being done, to what, what was wrong, and what to do
about it. Subclass a family only where the subclass is caught. Every other exception is a defect of this
program and shows its traceback.
"""

from __future__ import annotations


class Fault(Exception):
    """An expected error. `exit_code` is the exit code of the command line."""

    exit_code = 1


class OurFault(Fault):
    """A defect or a broken guarantee of this program; the operator can only report it."""

    exit_code = 1


class OperatorFault(Fault):
    """A setting, argument, file or piece of data from the operator is wrong."""

    exit_code = 3


class SiteFault(Fault):
    """A remote server did not answer, or answered badly."""

    exit_code = 4


class PeerFault(Fault):
    """Another peer of the overlay did not answer, or sent something wrong."""

    exit_code = 4


class HostFault(Fault):
    """This machine lacks something or forbids it: disk, memory, a privilege, a program."""

    exit_code = 5
