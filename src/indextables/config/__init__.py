"""Every setting, defined once, with its type, default and meaning."""

from indextables.config import keys
from indextables.config._settings import Setting, Settings, layered

__all__ = ["Setting", "Settings", "keys", "layered"]
