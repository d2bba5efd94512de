"""A frame's files behind addresses: `s3://`, `gs://`, `az://` and `https://`.

obstore, which is the extra `remote`, is loaded when the first bucket is opened; `https://` needs
no extra.
"""

from scorer.frame.remote.address import is_remote
from scorer.frame.remote.files import RemoteFile, find

__all__ = ["RemoteFile", "find", "is_remote"]
