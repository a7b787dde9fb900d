from __future__ import annotations

import importlib.util
from pathlib import Path

from indextables.config import keys

TOOL = Path(__file__).parents[2] / "tools" / "config_page.py"


def _tool():
    spec = importlib.util.spec_from_file_location("config_page", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_settings_page_is_up_to_date():
    tool = _tool()
    assert tool.PAGE.read_text() == tool.page(), "run `make docs`"


def test_every_key_alias_and_family_is_on_the_page():
    page = _tool().page()
    for setting in keys.ALL:
        assert f"`{setting.key}`" in page
        assert all(f"`{alias}`" in page for alias in setting.aliases)
    for family in keys.FAMILIES:
        assert f"`{family.prefix}<name>`" in page
