"""Every setting, defined once, with its type, default and meaning."""

from indextables.config import keys
from indextables.config._settings import Setting, Settings, layered, of_options

__all__ = ["Setting", "Settings", "keys", "layered", "of_options"]
