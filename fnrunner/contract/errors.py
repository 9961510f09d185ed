"""Errors of functions that could not be run, with what to do about each.

A function that ran and objected is no error: it is an `Outcome` with `failed` set.
"""

from collections.abc import Iterable
from pathlib import Path


class FunctionError(Exception):
    """A function could not be run; the subclasses say why and who must act.

    Attributes:
        image: The function, as it was asked for.
    """

    def __init__(self, image: str, problem: str, fix: str) -> None:
        super().__init__(f'function "{image}": {problem}. {fix}.')
        self.image = image


class FunctionNotFoundError(FunctionError):
    """No runner has this function; the author or an operator can change that.

    Attributes:
        there: Names of all that there are, sorted; () where nobody knows.
    """

    def __init__(self, image: str, there: Iterable[str] = ()) -> None:
        self.there = tuple(sorted(there))
        names = ", ".join(self.there)
        super().__init__(
            image,
            f"it is not one of the functions available here: {names}"
            if names
            else "no runner provides it",
            "Check its registry, name and tag in the Kptfile",
        )


class FunctionFailedError(FunctionError):
    """A function failed and left no ResourceList, only words.

    Runners that drop what a failing function wrote (Porch's do) answer so.

    Attributes:
        log: What the runner or the function said about it.
    """

    def __init__(self, image: str, log: str) -> None:
        super().__init__(
            image,
            f"it failed without results: {log.strip() or 'no reason given'}",
            "Run it by hand on the same resources to see why",
        )
        self.log = log


class FunctionRefusedError(FunctionError):
    """A function is not run here, whatever it is sent: policy forbids it, or nothing can fence it.

    Attributes:
        reason: Why, such as "it is not among the images allowed here".
        fix: What an operator can do.
    """

    def __init__(self, image: str, reason: str, fix: str) -> None:
        super().__init__(image, reason, fix)
        self.reason = reason
        self.fix = fix


class FunctionUnavailableError(FunctionError):
    """A function's image could not be pulled: its registry refuses, or does not answer.

    Attributes:
        reason: Why, such as "its registry does not answer".
        fix: What an operator or the author can do.
        passing: It may well be had a little later.
    """

    def __init__(self, image: str, reason: str, fix: str, *, passing: bool = False) -> None:
        super().__init__(image, reason, fix)
        self.reason = reason
        self.fix = fix
        self.passing = passing


class FunctionStoppedError(FunctionError):
    """A function was stopped because it went over a limit.

    Attributes:
        limit: Which: "memory", "processes", "open files", "output", "temporary files" or "time".
        allowed: How much it may take, in words, such as "512 MiB".
        taken: How much it took when it was stopped, in words; "" where nobody counted.
    """

    def __init__(self, image: str, limit: str, allowed: str, taken: str = "") -> None:
        found = f", it took {taken}" if taken else ""
        super().__init__(
            image,
            f"it was stopped because it exceeded its limit of {limit}: {allowed} allowed{found}",
            "Give it fewer resources, or ask an operator for a higher limit",
        )
        self.limit = limit
        self.allowed = allowed
        self.taken = taken


class FunctionTimeoutError(FunctionStoppedError):
    """A function did not finish in time.

    Attributes:
        seconds: The time it had; more than 0.
    """

    def __init__(self, image: str, seconds: float, taken: str = "") -> None:
        super().__init__(image, "time", f"{seconds:g} seconds", taken)
        self.seconds = seconds

    def __str__(self) -> str:
        found = f", it took {self.taken}" if self.taken else ""
        return (
            f'function "{self.image}": it did not finish within {self.allowed}{found}.'
            " Give it fewer resources, or ask an operator for more time."
        )


class MessageTooLargeError(FunctionError):
    """Resources are larger than a message may be.

    Attributes:
        size_bytes: Size found; None when only the other side knows it.
        limit_bytes: Size allowed; None when only the other side knows it.
    """

    def __init__(self, image: str, size_bytes: int | None, limit_bytes: int | None) -> None:
        found = "more than is allowed" if size_bytes is None else f"{size_bytes} bytes"
        wanted = "" if limit_bytes is None else f", at most {limit_bytes} are allowed"
        super().__init__(
            image,
            f"the resources take {found}{wanted}",
            "Split the package, or ask an operator for a higher limit",
        )
        self.size_bytes = size_bytes
        self.limit_bytes = limit_bytes


class ResourcesRefusedError(FunctionError):
    """What was sent is not a ResourceList.

    Attributes:
        reason: What is wrong with it, and where.
    """

    def __init__(self, image: str, reason: str) -> None:
        super().__init__(
            image,
            f"its input is not a valid ResourceList: {reason.removesuffix('.')}",
            "Fix the resources named",
        )
        self.reason = reason


class RunnerBusyError(Exception):
    """A runner cannot take the call now; it will pass.

    Attributes:
        where: Which runner or function.
        reason: What it is busy with.
        retry_after: How long to wait before the next try, in seconds.
    """

    def __init__(self, where: str, reason: str, retry_after: float) -> None:
        super().__init__(f"{where}: {reason}. Try again in {retry_after:g} seconds.")
        self.where = where
        self.reason = reason
        self.retry_after = retry_after


def not_connected(said: str, *, tls: bool, shown: bool) -> str:
    """Return a hint on why a TLS connection failed; "" where TLS is not involved.

    Args:
        said: What gRPC says of it.
        tls: Whether the caller spoke TLS.
        shown: Whether it had a certificate to show.
    """
    if tls and "WRONG_VERSION_NUMBER" in said:
        return " (it does not seem to use TLS: leave out --runner-ca)"
    if tls and "CERTIFICATE_VERIFY_FAILED" in said:
        return " (its certificate is not signed by any authority in --runner-ca)"
    if "Socket closed" not in said or shown:
        return ""
    if tls:
        return " (if it requires a client certificate, give yours: --runner-cert, --runner-key)"
    return " (if it uses TLS, give the authorities that signed its certificate: --runner-ca)"


class RunnerBrokenError(Exception):
    """A runner answered with a bug of its own; its log tells more.

    Attributes:
        where: Which runner or function.
        reason: What it said.
    """

    def __init__(self, where: str, reason: str) -> None:
        super().__init__(f"{where}: {reason}. See the runner's log.")
        self.where = where
        self.reason = reason


class RunnerAddressError(Exception):
    """An address cannot be listened on; an operator must change it."""

    def __init__(self, address: str, reason: str, wanted: str = "unix:/PATH or HOST:PORT") -> None:
        super().__init__(f"{address}: {reason}. Give {wanted} with a free path or port.")


class CertificateError(Exception):
    """A certificate, or what belongs to it, cannot be used; an operator must change it.

    Attributes:
        path: The file.
    """

    def __init__(self, path: Path, reason: str, fix: str) -> None:
        super().__init__(f"{path}: {reason}. {fix}.")
        self.path = path


class SandboxError(Exception):
    """No sandbox can be made on this machine, so that nothing is run in one.

    Attributes:
        reason: What is missing or refused.
        fix: What an operator can do.
    """

    def __init__(self, reason: str, fix: str) -> None:
        super().__init__(f"sandbox: {reason}. {fix}.")
        self.reason = reason
        self.fix = fix


class ClusterError(Exception):
    """A Kubernetes cluster does not do what it was asked.

    Attributes:
        reason: What it said.
        fix: What an operator can do.
        passing: It may well do it a little later.
    """

    def __init__(self, reason: str, fix: str, *, passing: bool = False) -> None:
        super().__init__(f"Kubernetes: {reason}. {fix}.")
        self.reason = reason
        self.fix = fix
        self.passing = passing


class ClosureError(Exception):
    """This interpreter cannot be taken into pods."""

    def __init__(self, reason: str, fix: str) -> None:
        super().__init__(f"function server: {reason}. {fix}.")
