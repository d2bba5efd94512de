"""Which credentials a store has, looked for before it is asked: the libraries wait for minutes.

obstore reads the environment itself. Added here: the keys of AWS's own files, and whether anything
is there at all, for a plain error at once.
"""

import os
import socket
from collections.abc import Mapping
from configparser import ConfigParser
from configparser import Error as ConfigError
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from scorer.frame.remote.address import Address, Failure

# Any of these variables says that credentials are meant to be there.
_SAID: Final[Mapping[str, tuple[str, ...]]] = {
    "s3": (
        *("AWS_ACCESS_KEY_ID", "AWS_SKIP_SIGNATURE", "AWS_WEB_IDENTITY_TOKEN_FILE"),
        *("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI"),
    ),
    "gs": (
        *("GOOGLE_SERVICE_ACCOUNT", "GOOGLE_SERVICE_ACCOUNT_PATH", "GOOGLE_SERVICE_ACCOUNT_KEY"),
        *("GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_BEARER_TOKEN", "GOOGLE_SKIP_SIGNATURE"),
    ),
    "az": (
        *("AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_ACCESS_KEY", "AZURE_STORAGE_MASTER_KEY"),
        *("AZURE_STORAGE_SAS_KEY", "AZURE_STORAGE_SAS_TOKEN", "AZURE_STORAGE_TOKEN"),
        *("AZURE_CLIENT_SECRET", "AZURE_STORAGE_CLIENT_SECRET", "AZURE_FEDERATED_TOKEN_FILE"),
        *("AZURE_MSI_ENDPOINT", "AZURE_IDENTITY_ENDPOINT", "AZURE_USE_AZURE_CLI"),
        *("AZURE_SKIP_SIGNATURE", "AZURE_STORAGE_USE_EMULATOR"),
    ),
}
_ENDPOINTS: Final[Mapping[str, tuple[str, ...]]] = {
    "s3": ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"),
    "gs": ("GOOGLE_BASE_URL",),
    "az": ("AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT"),
}
WHERE: Final[Mapping[str, str]] = {
    "s3": "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE to a profile with keys "
    "in ~/.aws/credentials; for public data AWS_SKIP_SIGNATURE=true.",
    "gs": "Set GOOGLE_APPLICATION_CREDENTIALS to a service account's file, or sign in with "
    "gcloud auth application-default login; for public data GOOGLE_SKIP_SIGNATURE=true.",
    "az": "Set AZURE_STORAGE_ACCOUNT_NAME, and AZURE_STORAGE_ACCOUNT_KEY or "
    "AZURE_STORAGE_SAS_TOKEN (after az login AZURE_USE_AZURE_CLI=true); for public data "
    "AZURE_SKIP_SIGNATURE=true.",
}
# Machines in a cloud get credentials from here, and answer at once; elsewhere nobody does.
_METADATA: Final = "http://169.254.169.254"
_METADATA_SECONDS: Final = 1.0


def settings(address: Address, fails: Failure) -> tuple[dict[str, str], bool]:
    """Return what to tell the store beyond the environment, and whether it may speak plain HTTP.

    Raises where no credentials are to be found, or an endpoint is no address.
    """
    plain = _plain_http(address, fails)
    options = _aws_files(address, fails) if address.scheme == "s3" else {}
    if address.scheme == "az" and not _any(
        "AZURE_STORAGE_ACCOUNT_NAME", "AZURE_STORAGE_USE_EMULATOR"
    ):
        raise fails(f"{address.name}: no storage account is named.\n{WHERE['az']}")
    if account := os.environ.get("AZURE_STORAGE_ACCOUNT_NAME"):
        options |= {"account_name": account} if address.scheme == "az" else {}
    has_file = address.scheme == "gs" and _gcloud_file().is_file()
    found = _any(*_SAID[address.scheme]) or "access_key_id" in options or has_file
    if not found and not _metadata_answers():
        raise fails(f"{address.name}: no credentials found.\n{WHERE[address.scheme]}")
    if options.get("access_key_id") is None and _any("AWS_ACCESS_KEY_ID"):
        _check_pair(address, fails)
    return options, plain


def _any(*variables: str) -> bool:
    return any(os.environ.get(variable) for variable in variables)


def _check_pair(address: Address, fails: Failure) -> None:
    if address.scheme == "s3" and not _any("AWS_SECRET_ACCESS_KEY"):
        raise fails(
            f"{address.name}: AWS_ACCESS_KEY_ID is set, AWS_SECRET_ACCESS_KEY is not.\nSet both."
        )


def _plain_http(address: Address, fails: Failure) -> bool:
    for variable in _ENDPOINTS[address.scheme]:
        if endpoint := os.environ.get(variable):
            parts = urlsplit(endpoint)
            if parts.scheme not in ("http", "https") or not parts.hostname:
                raise fails(
                    f"{variable}={endpoint}: not an address.\n"
                    "Expected for instance https://storage.example.org:9000"
                )
            return parts.scheme == "http"
    return address.scheme == "az" and _any("AZURE_STORAGE_USE_EMULATOR")


def _aws_files(address: Address, fails: Failure) -> dict[str, str]:
    """Return keys and region of the profile in AWS's files, where the environment has none."""
    profile = os.environ.get("AWS_PROFILE") or "default"
    keys = _section("AWS_SHARED_CREDENTIALS_FILE", "credentials", profile)
    title = profile if profile == "default" else f"profile {profile}"
    config = _section("AWS_CONFIG_FILE", "config", title)
    options: dict[str, str] = {}
    if not _any("AWS_REGION", "AWS_DEFAULT_REGION") and "region" in config:
        options["region"] = config["region"]
    if _any(*_SAID["s3"]):
        return options
    for name, option in (
        ("aws_access_key_id", "access_key_id"),
        ("aws_secret_access_key", "secret_access_key"),
        ("aws_session_token", "session_token"),
    ):
        if value := keys.get(name) or config.get(name):
            options[option] = value
    if "AWS_PROFILE" in os.environ and "access_key_id" not in options:
        raise fails(
            f"{address.name}: AWS_PROFILE={profile}: no such profile with keys in "
            '~/.aws/credentials.\nFor a profile of another kind: eval "$(aws configure '
            'export-credentials --format env)"'
        )
    return options


def _section(variable: str, name: str, title: str) -> Mapping[str, str]:
    path = Path(os.environ.get(variable) or Path.home() / ".aws" / name)
    parser = ConfigParser(interpolation=None)
    try:
        parser.read(path, encoding="utf-8")
    except (ConfigError, OSError, UnicodeDecodeError):
        return {}
    return dict(parser[title]) if parser.has_section(title) else {}


def _gcloud_file() -> Path:
    home = Path(os.environ.get("APPDATA") or Path.home() / ".config")
    return home / "gcloud" / "application_default_credentials.json"


def _metadata_answers() -> bool:
    """Tell whether this machine is one of a cloud, which gives it credentials."""
    if os.environ.get("AWS_EC2_METADATA_DISABLED", "").lower() == "true":
        return False
    parts = urlsplit(os.environ.get("AWS_METADATA_ENDPOINT") or _METADATA)
    try:
        place = (parts.hostname or "", parts.port or 80)
        socket.create_connection(place, _METADATA_SECONDS).close()
    except OSError:
        return False
    return True
