"""An implementation of an interface -> nothing, or the promise that it breaks.

A contract is a list of promises: plain functions that take the subject and assert. Invariant: every promise
gets a new subject, and whatever it raises, an error of the subject's own included, is a broken promise.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Generic, TypeAlias, TypeVar

from ipmicra.errors import OperatorFault

Subject = TypeVar("Subject")
Promise: TypeAlias = Callable[[Subject], None]


class PromiseBroken(AssertionError):
    """An implementation does not do what its interface promises. `promise` is the promise's name."""

    def __init__(self, interface: str, promise: str, error: Exception) -> None:
        self.promise = promise
        sentence = promise.replace("_", " ")
        super().__init__(f"{interface} must keep: {sentence}. {type(error).__name__}: {error}")


class Contract(Generic[Subject]):
    """The promises of one interface, by name, in the order in which they were written."""

    def __init__(self, interface: str) -> None:
        self.interface = interface
        self.promises: dict[str, Promise[Subject]] = {}

    def promise(self, function: Promise[Subject]) -> Promise[Subject]:
        """Add a promise (a decorator). Its name is the sentence that is reported when it is broken."""
        self.promises[function.__name__] = function
        return function

    def check(self, make: Callable[[], AbstractContextManager[Subject]]) -> None:
        """Check every promise, each with a new subject. Raises PromiseBroken."""
        for name in self.promises:
            self.check_promise(name, make)

    def check_promise(self, name: str, make: Callable[[], AbstractContextManager[Subject]]) -> None:
        """Check one promise. Raises PromiseBroken."""
        if not __debug__:
            raise OperatorFault("python -O removes the assert statements: no check could fail")
        try:
            with make() as subject:
                self.promises[name](subject)
        except Exception as error:
            raise PromiseBroken(self.interface, name, error) from error
