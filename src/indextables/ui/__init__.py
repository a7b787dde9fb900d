"""The web UI: a server on this machine's loopback, and plain modules that a browser runs without any other host.

It needs `pip install "CLONE[ui]"`, CLONE being the directory of a clone. The tables are fixed when it starts; no
request names a path.
"""

from indextables.ui.server import Address, listen, serve

__all__ = ["Address", "listen", "serve"]
