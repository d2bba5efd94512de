"""What a store's or a server's refusal means, in plain words."""

import re
from typing import Final

from scorer.frame.remote.address import Address
from scorer.frame.remote.credentials import WHERE
from scorer.frame.remote.retry import TRIES

AGAIN: Final = "Give the same command again: a run goes on from its finished parts."

_BUCKET: Final = {"s3": "bucket", "gs": "bucket", "az": "container"}
_NO_BUCKET: Final = re.compile(
    r"NoSuchBucket|ContainerNotFound|bucket does not exist|container does not exist"
)
_CREDENTIALS: Final = re.compile(
    r"InvalidAccessKeyId|SignatureDoesNotMatch|ExpiredToken|InvalidToken|TokenRefreshRequired"
    r"|AuthenticationFailed|UnauthenticatedError|Unauthenticated|invalid_grant|401 Unauthorized"
)
_METADATA: Final = re.compile(r"169\.254\.169\.254|metadata\.google\.internal")
_STATUS: Final = re.compile(r"status code: (\d{3}[^:\n]*)")
_CONNECTION: Final = re.compile(
    r"HTTP error|error sending request|body error|status code: (?:5\d\d|429|408)"
)
_LOOKED_AT: Final = {
    "s3": "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_PROFILE in "
    "~/.aws/credentials, the machine's role",
    "gs": "GOOGLE_APPLICATION_CREDENTIALS, GOOGLE_SERVICE_ACCOUNT, gcloud's default credentials, "
    "the machine's account",
    "az": "AZURE_STORAGE_ACCOUNT_NAME, AZURE_STORAGE_ACCOUNT_KEY, AZURE_STORAGE_SAS_TOKEN, "
    "AZURE_CLIENT_SECRET, the machine's identity",
}
# What the library calls a failure, deep inside its message -> what it is.
_FAILURES: Final = (
    (r"ConnectionRefused|Connection refused", "connection refused"),
    (r"dns error|failed to lookup address", "no such host"),
    (r"TimedOut|timed out|deadline has elapsed", "no answer in time"),
    (r"invalid peer certificate|CertificateError|UnknownIssuer", "its certificate is not trusted"),
    (
        r"IncompleteMessage|IncompleteBody|UnexpectedEof|ConnectionReset|BrokenPipe|Interrupted"
        r"|connection closed",
        "cut off",
    ),
)


def explained(error: Exception, address: Address) -> str:
    """Return the words for a store's error: what is wrong, where, what to do."""
    text = str(error)
    known = _not_allowed(error, text, address) or _not_there(error, text, address)
    if known:
        return known
    if "redirect" in text.lower() or "AuthorizationHeaderMalformed" in text:
        return f"{address.name}: the bucket lies in another region.\nSet AWS_REGION to it."
    if _CONNECTION.search(text):
        return connection_failed(address.name, _failure(text))
    return f"{address.name}: refused ({_first_line(text)}).\nCheck the address and the settings."


def _not_allowed(error: Exception, text: str, address: Address) -> str | None:
    if _METADATA.search(text):  # where the library looks last for credentials
        return f"{address.name}: no credentials found.\n{WHERE[address.scheme]}"
    looked = f"Looked at: {_LOOKED_AT[address.scheme]}."
    if _CREDENTIALS.search(text):
        return f"{address.name}: the credentials are not accepted{_code(text)}.\n{looked}"
    if "PermissionDenied" in type(error).__name__ or "403 Forbidden" in text:
        return (
            f"{address.name}: access denied{_code(text)}.\n"
            f"The credentials that were found may not do this. {looked}"
        )
    return None


def _not_there(error: Exception, text: str, address: Address) -> str | None:
    if _NO_BUCKET.search(text):
        return no_bucket(address)
    if isinstance(error, FileNotFoundError) or "404 Not Found" in text:
        return absent(address)
    return None


def is_absent(error: Exception) -> bool:
    """Tell whether an error says that a whole bucket is missing."""
    return _NO_BUCKET.search(str(error)) is not None


def is_connection(error: Exception) -> bool:
    """Tell whether an error is of the connection, or of a server that is not well."""
    return _CONNECTION.search(str(error)) is not None


def absent(address: Address) -> str:
    """Return the words for an object that is not there."""
    return f"{address.name}: no such object. Check the name."


def no_bucket(address: Address) -> str:
    """Return the words for a bucket that is not there."""
    return f"{address.name}: no such {_BUCKET[address.scheme]}: {address.bucket}. Check the name."


def changed(name: str) -> str:
    """Return the words for a file that is no longer the one that was found."""
    return f"{name}: changed while it was read.\nGive the command again when the file is finished."


def connection_failed(name: str, why: str) -> str:
    """Return the words for a connection that fails again and again."""
    return f"{name}: the connection failed ({why}) after {TRIES} tries.\n{AGAIN}"


def _code(text: str) -> str:
    """Return the store's own word for a refusal, in brackets."""
    match = re.search(r"<Code>(\w+)</Code>", text) or _STATUS.search(text)
    return f" ({match[1].strip()})" if match else ""


def _failure(text: str) -> str:
    for pattern, words in _FAILURES:
        if re.search(pattern, text):
            return words
    status = _STATUS.search(text)
    return f"the server says {status[1].strip()}" if status else _first_line(text)


def _first_line(text: str) -> str:
    return text.strip().splitlines()[0][:200] if text.strip() else "no reason given"
