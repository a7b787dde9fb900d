"""Every setting, defined once, with its type, default and meaning."""

from indextables.config._settings import Setting, Settings
from indextables.config import keys

__all__ = ["Setting", "Settings", "keys"]
